// The module's options for a program that a test starts, with the constants that the test gives.
const CONSTANTS = Symbol.for('nestjs-payment-acceptance/constants');

/** @param {object} options */
export function optionsToJson(options) {
  return JSON.stringify({ ...options, constants: /** @type {Record<symbol, unknown>} */ (options)[CONSTANTS] });
}

/**
 * @param {string} json
 * @returns {object & Record<string, any>}
 */
export function optionsFromJson(json) {
  const { constants, ...options } = JSON.parse(json);
  return { ...options, [CONSTANTS]: constants };
}
