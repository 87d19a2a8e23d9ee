import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

const OID = {
  ecdsaWithSha256: '06082a8648ce3d040302',
  commonName: '0603550403',
  subjectAltName: '0603551d11',
  basicConstraints: '0603551d13',
};

/** A key, and a certificate for this machine that it has signed itself: as PEM, for servers that tests and benches start. */
export function certificate() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(set(sequence(hex(OID.commonName), tagged(0x0c, Buffer.from('localhost')))));
  const altNames = sequence(tagged(0x82, Buffer.from('localhost')), tagged(0x87, Buffer.from([127, 0, 0, 1])));
  const algorithm = sequence(hex(OID.ecdsaWithSha256));
  const day = 24 * 3_600_000;
  const body = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    name,
    sequence(time(Date.now() - day), time(Date.now() + 30 * day)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(
      0xa3,
      sequence(
        sequence(hex(OID.subjectAltName), tagged(0x04, altNames)),
        sequence(hex(OID.basicConstraints), tagged(0x04, sequence(tagged(0x01, Buffer.from([0xff]))))),
      ),
    ),
  );
  const signature = Buffer.concat([Buffer.from([0]), sign('sha256', body, privateKey)]);
  const der = sequence(body, algorithm, tagged(0x03, signature)).toString('base64');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    cert: `-----BEGIN CERTIFICATE-----\n${der.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
  };
}

/** @param {string} text */
const hex = (text) => Buffer.from(text, 'hex');
/** @param {...Buffer} parts */
const sequence = (...parts) => tagged(0x30, Buffer.concat(parts));
/** @param {Buffer} part */
const set = (part) => tagged(0x31, part);
/** @param {Buffer} bytes */
const integer = (bytes) => tagged(0x02, bytes);
/** @param {number} at */
const time = (at) => tagged(0x18, Buffer.from(`${new Date(at).toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`));

/**
 * One value of ASN.1, with its length.
 * @param {number} tag
 * @param {Buffer} content
 */
function tagged(tag, content) {
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
