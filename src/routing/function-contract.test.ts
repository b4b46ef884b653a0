import { expect, test } from 'vitest';
import { functionContract } from './function-contract.ts';

const transform = 'function transform(p) { return p }';
const asked = (code: string) => {
  const contract = functionContract(code);
  return contract.ok ? contract.version : contract.message;
};

test.each([
  [`export const version = 2;\n${transform}`],
  [`export const version=2\n${transform}`],
  [`\n  // of ours\n/* two * stars **/export const version = 2\r\n${transform}`],
  [`export const version = 2; ${transform}`],
])('%j asks for the second contract, and only the word export goes', (code) => {
  const contract = functionContract(code);
  expect(contract).toMatchObject({ ok: true, version: 2 });
  expect(contract.ok && contract.script).toBe(code.replace('export', '      '));
});

test.each([
  [transform],
  ['const version = 2;\nfunction transform() { return { headers: {} } }'],
  [`const text = \`\nexport const version = 2;\n\`; ${transform}`],
  [`// export const version = 2;\n${transform}`],
  [`/* export const version = 2; */ ${transform}`],
  [`${transform}\nexport const version = 2;`],
  ['export const version = 2 + 1;'],
  ['exports = { version: 2 }'],
])('%j keeps its meaning, or stays a syntax error', (code) => {
  expect(functionContract(code)).toEqual({ ok: true, version: 1, script: code });
});

test('version 1 is the contract of functions without a version, and others are not known', () => {
  expect(asked(`export const version = 1;\n${transform}`)).toBe(1);
  expect(asked(`export const version = 3;\n${transform}`)).toMatch(/version 3 is not known/);
});

test('long comments that lead nowhere are read once: exponential reading would never end', () => {
  expect(asked('/**/ // \n /*'.repeat(20_000))).toBe(1);
  expect(asked('/* * */'.repeat(30_000))).toBe(1);
});
