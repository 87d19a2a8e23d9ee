/** For TLS servers, also in unit tests of the libraries. */
export { certificate } from '../../scripts/lib/certificate.mjs';
