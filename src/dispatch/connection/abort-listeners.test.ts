import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { addAbortListener, removeAbortListener } from './abort-listeners.ts';

test('all that was added runs once at the abort, and the signal has one listener', () => {
  const { signal, abort } = controller();
  const ran: string[] = [];
  const removed = { abort: () => ran.push('removed') };
  addAbortListener(signal, { abort: () => ran.push('first') });
  addAbortListener(signal, removed);
  addAbortListener(signal, { abort: () => ran.push('last') });
  removeAbortListener(signal, removed);
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  abort();
  abort();
  expect(ran).toEqual(['first', 'last']);
});

test('a listener may remove itself and others while they run', () => {
  const { signal, abort } = controller();
  const ran: string[] = [];
  const second = { abort: () => ran.push('second') };
  const first = {
    abort: () => {
      ran.push('first');
      removeAbortListener(signal, first);
      removeAbortListener(signal, second);
    },
  };
  addAbortListener(signal, first);
  addAbortListener(signal, second);
  abort();
  expect(ran).toEqual(['first']);
});

function controller() {
  const made = new AbortController();
  return { signal: made.signal, abort: () => made.abort() };
}
