import { invalid } from '../domain/errors.ts';

/**
 * A password has at least 12 characters, of any kind. There are no rules on which. A password is refused if the estimate of
 * zxcvbn is below 10^11 guesses: leaked passwords with digits or signs added, repeats, runs of the keyboard, dates, and the
 * address or name of the account itself.
 */
const LEAST_CHARS = 12;
export const MOST_CHARS = 256;
const LEAST_GUESSES_LOG10 = 11;
/** The time of an estimate grows with the square of the length. 64 characters took 2 to 66 ms, 255 took up to 89. */
const MOST_ESTIMATED_CHARS = 64;
const OUR_WORDS = ['posthorn', 'webhook', 'webhooks', 'admin', 'administrator'];

/** Throws if the password may not be used. */
export async function checkPassword(
  field: string,
  password: string,
  person: { email: string; name: string },
): Promise<void> {
  const normal = password.normalize('NFKC');
  if (Array.from(normal).length < LEAST_CHARS)
    throw invalid(field, `must have at least ${LEAST_CHARS} characters`);
  if ((await guessesLog10(normal, person)) < LEAST_GUESSES_LOG10)
    throw invalid(field, 'is too easy to guess: use several words of your own');
}

async function guessesLog10(
  password: string,
  { email, name }: { email: string; name: string },
): Promise<number> {
  // 25 MB of memory, which a node takes when a person sets a password there.
  const [{ ZxcvbnFactory }, { adjacencyGraphs, dictionary }] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
  ]);
  const estimator = new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });
  const own = [email, email.split('@')[0] ?? '', name, ...OUR_WORDS];
  return estimator.check(password.slice(0, MOST_ESTIMATED_CHARS), own).guessesLog10;
}
