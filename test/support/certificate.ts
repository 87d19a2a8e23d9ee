/** For servers over TLS; also for tests of the libraries. */
export { certificate } from '../../scripts/lib/certificate.mjs';
