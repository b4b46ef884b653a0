import { expect, test } from 'vitest';
import { ByteBudget } from './byte-budget.ts';

/** Enters, and notes its name when it is in. */
const visit = async (budget: ByteBudget, bytes: number, note: string[]) => {
  await budget.enter(bytes);
  note.push(String(bytes));
};
const settled = () => new Promise((resolve) => setImmediate(resolve));

test('what does not fit waits in order of arrival, also behind one that is larger', async () => {
  const budget = new ByteBudget(100);
  const inside: string[] = [];
  void visit(budget, 60, inside);
  void visit(budget, 50, inside);
  void visit(budget, 10, inside);
  await settled();
  expect(inside).toEqual(['60']);
  budget.leave(60);
  await settled();
  expect(inside).toEqual(['60', '50', '10']);
  expect(budget.used).toBe(60);
});

test('one that is larger than the whole goes alone', async () => {
  const budget = new ByteBudget(100);
  const inside: string[] = [];
  void visit(budget, 1, inside);
  void visit(budget, 500, inside);
  await settled();
  expect(inside).toEqual(['1']);
  budget.leave(1);
  await settled();
  expect(inside).toEqual(['1', '500']);
  budget.leave(500);
  expect(budget.used).toBe(0);
});
