import { describe, expect, test } from 'vitest';
import { keyIdOf, lookupKeyOf, SealError, Sealer } from './sealer.ts';

const OLD = Buffer.from('the old key, which is long enough');
const NEW = Buffer.from('the new key, which is long enough');

const flipped = (sealed: Buffer) => {
  const copy = Buffer.from(sealed);
  copy[copy.length - 1]! ^= 1;
  return copy;
};

describe('sealing', () => {
  test.each(['', 'plain', 'ünïcode \u{1f4ef}', 'x'.repeat(1_000_000)])(
    'returns the sealed text when opened',
    (text) => {
      const sealer = new Sealer([NEW]);
      expect(sealer.open(sealer.seal(text, 'here'), 'here')).toBe(text);
    },
  );

  test('never gives the same bytes twice', () => {
    const sealer = new Sealer([NEW]);
    expect(sealer.seal('text', 'here')).not.toEqual(sealer.seal('text', 'here'));
  });

  test('includes a key id that reveals nothing of the key', () => {
    const sealed = new Sealer([NEW, OLD]).seal('text', 'here');
    expect(sealed.subarray(1, 9).toString('hex')).toBe(keyIdOf(NEW));
    expect(NEW.includes(Buffer.from(keyIdOf(NEW), 'hex'))).toBe(false);
  });

  test('opens values sealed with either key, in any order of keys', () => {
    const before = new Sealer([OLD]).seal('text', 'here');
    expect(new Sealer([NEW, OLD]).open(before, 'here')).toBe('text');
    expect(new Sealer([OLD, NEW]).open(new Sealer([NEW]).seal('text', 'here'), 'here')).toBe('text');
  });

  test('says which key is missing, without the text', () => {
    const sealed = new Sealer([OLD]).seal('text', 'endpoint 7');
    const open = () => new Sealer([NEW]).open(sealed, 'endpoint 7');
    expect(open).toThrow(SealError);
    expect(open).toThrow(
      `endpoint 7 is sealed with the secret key ${keyIdOf(OLD)}, which this node does not have`,
    );
  });

  test.each([
    ['moved', (sealed: Buffer) => sealed, 'there'],
    ['changed', flipped, 'here'],
    ['cut', (sealed: Buffer) => sealed.subarray(0, 20), 'here'],
    ['of another format', (sealed: Buffer) => Buffer.concat([Buffer.of(9), sealed]), 'here'],
    ['empty', () => Buffer.alloc(0), 'here'],
  ])('does not open a value that was %s', (_, change, place) => {
    const sealer = new Sealer([NEW]);
    expect(() => sealer.open(change(sealer.seal('text', 'here')), place)).toThrow(SealError);
  });

  test('keeps lookup hashes when the secret key changes', () => {
    const before = new Sealer([OLD]);
    const after = new Sealer([NEW, OLD], lookupKeyOf(OLD));
    expect(after.lookupHash('CO.key')).toEqual(before.lookupHash('CO.key'));
    expect(new Sealer([NEW]).lookupHash('CO.key')).not.toEqual(before.lookupHash('CO.key'));
  });
});
