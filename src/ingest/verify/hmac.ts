import { signatureHashes } from '../../domain/config/signature-hash.ts';
import { signatureEncodings } from '../../domain/config/source.ts';
import { compileSigner } from './signature.ts';
import { readHeader, refuseAll, refused, type Verifier, verified } from './verifier.ts';

interface HmacConfig {
  header: string;
  hash: string;
  secret: string;
  encoding: string;
  /** The prefix of the digest in the header. Without it the header is the digest alone. */
  prefix?: string;
}

/** The digest of the raw body in one header, with no timestamp. */
export function hmacVerifier(config: HmacConfig): Verifier {
  const { secret, prefix = '' } = config;
  const header = config.header.toLowerCase();
  if (secret === '') return refuseAll('the source has no secret to verify with');
  if (header === '') return refuseAll('the source names no signature header');
  const encoding = signatureEncodings.find((known) => known === config.encoding);
  if (encoding === undefined) return refuseAll('the signature encoding of the source is not known');
  const hash = signatureHashes.find((known) => known === config.hash);
  if (hash === undefined) return refuseAll('the signature hash of the source is not known');
  const signer = compileSigner(hash, encoding, secret);
  return (request) => {
    const reading = readHeader(request, header);
    if (!reading.ok) return reading;
    if (!reading.value.startsWith(prefix)) return refused(`header ${header} does not begin with ${prefix}`);
    if (!signer.matches(reading.value.slice(prefix.length), request.body)) {
      return refused(`header ${header} does not match the body`);
    }
    return verified;
  };
}
