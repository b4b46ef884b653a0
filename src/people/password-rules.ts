import { invalid } from '../domain/errors.ts';

/**
 * A password has at least 12 characters, of any kind. There are no rules on which. Refused is what guessing tries first:
 * common passwords with a few digits or signs added, one character or a run of the keyboard repeated, and the address or
 * name of the account itself.
 */
const LEAST_CHARS = 12;
export const MOST_CHARS = 256;
const LEAST_DIFFERENT_CHARS = 5;

/** The words of the passwords that leaked most often. */
const COMMON = new Set(
  `password passw0rd passwort motdepasse contraseña qwerty qwertz azerty qwertyuiop asdfgh asdfghjkl zxcvbn zxcvbnm
  letmein welcome admin administrator root login user test guest master secret changeme default trustno monkey dragon
  football baseball basketball soccer superman batman pokemon starwars iloveyou princess sunshine shadow michael jordan
  ashley jessica daniel charlie andrew thomas summer winter spring autumn monday friday january december computer
  internet google facebook freedom whatever hello flower mustang cookie samsung liverpool chelsea arsenal barcelona
  posthorn webhook webhooks company temp temporary qazwsx qweasd qweasdzxc abcdef abcdefg abcdefgh abcdefghijkl letme in
  my the is new pass word me you love`.split(/\s+/),
);
const SEQUENCES = [
  'abcdefghijklmnopqrstuvwxyz',
  '0123456789',
  'qwertyuiop',
  'asdfghjkl',
  'zxcvbnm',
  '1q2w3e4r5t6z7u8i9o0p',
  '1q2w3e4r5t6y7u8i9o0p',
  'qazwsxedcrfvtgbyhnujm',
];

/** Throws if the password may not be used. */
export function checkPassword(
  field: string,
  password: string,
  person: { email: string; name: string },
): void {
  const problem = problemOf(password.normalize('NFKC'), person);
  if (problem !== null) throw invalid(field, problem);
}

function problemOf(password: string, { email, name }: { email: string; name: string }): string | null {
  if (Array.from(password).length < LEAST_CHARS) return `must have at least ${LEAST_CHARS} characters`;
  if (new Set(password).size < LEAST_DIFFERENT_CHARS) return 'has too few different characters';
  const lower = password.toLowerCase();
  if (isSequence(lower)) return 'is a run of neighbouring characters';
  const own = [email, email.split('@')[0] ?? '', name].map((word) => word.toLowerCase().trim());
  const rest = own
    .filter((word) => word.length >= 4)
    .reduce((left, word) => left.replaceAll(word, ' '), lower);
  const words = rest.split(/[^\p{L}\p{N}@$!]+/u).flatMap(wordsOf);
  const isGuessable = words.every((word) => isCommon(word));
  return isGuessable && letters(rest) < 2 * LEAST_CHARS
    ? 'is too easy to guess: use several words of your own'
    : null;
}

/** The words in a part, without the digits and signs around them, and with letters for the digits that stand for them. */
function wordsOf(part: string): string[] {
  return part
    .replaceAll(/^[\d@$!]+|[\d$!]+$/g, '')
    .replaceAll(/[@4]/g, 'a')
    .replaceAll('0', 'o')
    .replaceAll(/[$5]/g, 's')
    .replaceAll('3', 'e')
    .replaceAll(/[1!]/g, 'i')
    .split(/[^\p{L}]+/u)
    .filter((word) => word.length > 1);
}

const letters = (text: string) => text.replaceAll(/[^\p{L}]/gu, '').length;

/** A common word, or several of them without a space. */
function isCommon(word: string): boolean {
  if (COMMON.has(word) || isSequence(word)) return true;
  // The ends of the parts that are common words, from the front.
  const ends = [0];
  for (let end = 2; end <= word.length; end++)
    if (ends.some((start) => COMMON.has(word.slice(start, end)))) ends.push(end);
  return ends.at(-1) === word.length;
}

function isSequence(text: string): boolean {
  const half = text.slice(0, Math.ceil(text.length / 2));
  return SEQUENCES.some((row) => {
    const twice = row.repeat(2);
    const back = twice.split('').toReversed().join('');
    return (
      twice.includes(text) ||
      back.includes(text) ||
      (text === half.repeat(2).slice(0, text.length) && (twice.includes(half) || back.includes(half)))
    );
  });
}
