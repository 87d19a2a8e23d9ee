/** What is wrong with the address under which the service is to reach the host, and what to set instead. */
export function publicUrlFlaw(address: unknown, production: boolean): string | undefined {
  const remedy = 'Set the base address under which the service reaches the application, such as https://shop.example.';
  if (typeof address !== 'string' || /[\s\p{Cc}?#]/u.test(address) || !URL.canParse(address)) {
    return `is no address, or has white space, a query or a fragment in it. ${remedy}`;
  }
  const { protocol, username, password } = new URL(address);
  if (!/^https?:$/.test(protocol)) return `is not an http or https address. ${remedy}`;
  if (username || password) return `has a user name or a password in it, which logs would show. ${remedy}`;
  if (production && protocol !== 'https:') {
    return `is not https, and NODE_ENV is production: anybody on the way could read the callbacks. ${remedy}`;
  }
  return undefined;
}
