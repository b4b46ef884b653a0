import { apiKeyVerifier, basicAuthVerifier } from './credentials.ts';
import { hmacVerifier } from './hmac.ts';
import { findPreset } from './presets.ts';
import { refuseAll, type Verifier, type VerifierConfig, verified } from './verifier.ts';

/** The part of a source that configures verification. `provider` is empty if there is none. */
export interface VerifiedSource {
  provider: string;
  verifier: VerifierConfig;
}

/**
 * The source's verifier, compiled once per configuration. A provider's scheme overrides the verifier's own
 * type and uses the secret in `verifier.hmac.secret`. A misconfigured source refuses everything.
 */
export function compileVerifier(source: VerifiedSource): Verifier {
  const { provider, verifier } = source;
  if (provider !== '') return compileProvider(provider, verifier);
  switch (verifier.type) {
    case 'noop':
      return () => verified;
    case 'hmac':
      return hmacVerifier(verifier.hmac);
    case 'basic_auth':
      return basicAuthVerifier(verifier.basic_auth);
    case 'api_key':
      return apiKeyVerifier(verifier.api_key);
    default:
      verifier satisfies never;
      return refuseAll('the verifier of the source is not known');
  }
}

function compileProvider(provider: string, verifier: VerifierConfig): Verifier {
  const preset = findPreset(provider);
  if (preset === undefined) return refuseAll('the provider of the source is not known');
  const secret = verifier.type === 'hmac' ? verifier.hmac.secret : '';
  if (preset.needsSecret && secret === '') return refuseAll('the source has no secret to verify with');
  return preset.compile(secret);
}

/** Whether a signature covers the body. Values outside the body are not covered then. */
export function verifiesBySignature(source: VerifiedSource): boolean {
  return source.provider !== '' || source.verifier.type === 'hmac';
}

/** The headers, in lower case, with the credential or the signature of the source's requests. */
export function verifierHeaders({ provider, verifier }: VerifiedSource): readonly string[] {
  const preset = findPreset(provider);
  if (preset !== undefined) return preset.signatureHeaders;
  switch (verifier.type) {
    case 'noop':
      return [];
    case 'hmac':
      return [verifier.hmac.header.toLowerCase()];
    case 'basic_auth':
      return ['authorization'];
    case 'api_key':
      return [verifier.api_key.header_name.toLowerCase() || 'authorization'];
    default:
      verifier satisfies never;
      return [];
  }
}
