import { compileSecretMatcher } from './signature.ts';
import { readHeader, refuseAll, refused, type Verifier, verified } from './verifier.ts';

/** The encoded pair is compared as a whole, so a password may contain colons. */
export function basicAuthVerifier(config: { username: string; password: string }): Verifier {
  const pair = `${config.username}:${config.password}`;
  if (pair === ':') return refuseAll('the source has neither a username nor a password to verify with');
  const matches = compileSecretMatcher(Buffer.from(pair, 'utf8').toString('base64'));
  return (request) => {
    const reading = readHeader(request, 'authorization');
    if (!reading.ok) return reading;
    const token = /^basic +(\S+)$/i.exec(reading.value)?.[1];
    if (token === undefined) return refused('header authorization is not of the Basic scheme');
    return matches(token) ? verified : refused('the username or password is wrong');
  };
}

/** With a blank header name the key is the second word of `Authorization`, for any scheme. */
export function apiKeyVerifier(config: { header_name: string; header_value: string }): Verifier {
  if (config.header_value === '') return refuseAll('the source has no key to verify with');
  const matches = compileSecretMatcher(config.header_value);
  const header = config.header_name.toLowerCase() || 'authorization';
  const keyOf = config.header_name === '' ? afterScheme : (value: string) => value;
  return (request) => {
    const reading = readHeader(request, header);
    if (!reading.ok) return reading;
    return matches(keyOf(reading.value)) ? verified : refused(`header ${header} does not contain the key`);
  };
}

/** Without a scheme there is no second word. The result is empty, which never equals the key. */
function afterScheme(authorization: string): string {
  const space = authorization.indexOf(' ');
  return space === -1 ? '' : authorization.slice(space + 1);
}
