import { expect, test } from 'vitest';
import { quietLog } from '../../../test/support/quiet-log.ts';
import { GoogleQueue } from './google-queue.ts';

/** Numbers of messages that pulls ask for, of a subscription that has as many of this size. */
async function asked(bodyBytes: number, pulls: number): Promise<number[]> {
  const numbers: number[] = [];
  const subscription = {
    name: 'subscription',
    call: async <Answer>(_method: string, request: object) => {
      const { maxMessages } = request as { maxMessages: number };
      numbers.push(maxMessages);
      const message = { data: Buffer.alloc(bodyBytes), messageId: '1' };
      return {
        receivedMessages: Array.from({ length: maxMessages }, () => ({ ackId: 'a', message })),
      } as Answer;
    },
  };
  const queue = new GoogleQueue(subscription, 1_000, quietLog);
  for (let n = 0; n < pulls; n++) await queue.receive(true, new AbortController().signal);
  return numbers;
}

test('a pull asks for at most 200 messages, and for more only step by step', async () => {
  expect(await asked(100, 7)).toEqual([10, 20, 40, 80, 160, 200, 200]);
});

test('a pull asks for as many messages as fit into 1 MiB by the size of those before, and for one at least', async () => {
  expect(await asked(100_000, 3)).toEqual([10, 10, 10]);
  expect(await asked(300_000, 3)).toEqual([10, 3, 3]);
  expect(await asked(2_000_000, 3)).toEqual([10, 1, 1]);
});
