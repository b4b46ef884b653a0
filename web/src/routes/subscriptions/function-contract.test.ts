import { expect, it } from 'vitest';
import { functionContract } from './function-contract.ts';

const order = { id: 7, lines: [{ price: 5 }], customer: null };

it.each([
  ['function transform(order) {'],
  ['async function transform( order ) {'],
  ['const transform = (order) =>'],
  ['const transform = async order => order'],
  ['const transform = async function (order) {'],
  ['let transform=function named(order){'],
])('the argument of %s has the fields of a real event', (text) => {
  expect(functionContract(text, order).scope).toMatchObject({ order, Math, JSON });
});

it('a function has no network, timers or modules', () => {
  const { scope } = functionContract('function transform(order) {', order);
  for (const name of ['fetch', 'setTimeout', 'require', 'window', 'eval', 'WebAssembly'])
    expect(scope).not.toHaveProperty(name);
});

it('fields of an argument that is taken apart are suggested with their types, each once', () => {
  for (const text of ['function transform({ id, ', 'const transform = async ({ id, '])
    expect(functionContract(text, order).names(text)).toEqual([
      { label: 'lines', detail: 'array' },
      { label: 'customer', detail: 'null' },
    ]);
  expect(functionContract('', 'text').names('function transform({ ')).toEqual([]);
});

it('what may be returned is suggested where something is returned', () => {
  const text = 'function transform(order) {\n  ';
  const labels = (payload: unknown, before: string) =>
    functionContract(text, payload)
      .names(before)
      .map(({ label }) => label);
  expect(labels(order, `${text}return `)).toEqual(['order', '{ ...order }']);
  expect(labels(order, 'const transform = (order) => ')).toEqual(['order', '{ ...order }']);
  expect(labels('a;b', `${text}return `)).toEqual(['order', '{ value: order }']);
  expect(labels(order, text)).toEqual([]);
  expect(functionContract('', order).names('return ')).toEqual([]);
});
