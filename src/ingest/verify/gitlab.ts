import { compileSecretMatcher } from './signature.ts';
import { standardWebhooksVerifier } from './standard-webhooks.ts';
import { readHeader, refused, type Verifier, verified } from './verifier.ts';

/**
 * GitLab has two settings. A signing token (`whsec_...`) signs by Standard Webhooks. A secret token is sent
 * as it is. The form of the secret decides, and there is no fallback from one to the other.
 */
export function gitlabVerifier(secret: string): Verifier {
  if (secret.startsWith('whsec_')) return standardWebhooksVerifier(secret);
  const matches = compileSecretMatcher(secret);
  return (request) => {
    const reading = readHeader(request, 'x-gitlab-token');
    if (!reading.ok) return reading;
    return matches(reading.value) ? verified : refused('header x-gitlab-token does not contain the secret');
  };
}
