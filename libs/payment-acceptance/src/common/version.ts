/** A release changes it with `package.json`. */
export const VERSION = '0.1.0';
