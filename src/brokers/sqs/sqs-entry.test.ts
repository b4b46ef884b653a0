import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { messageOut } from '../../../test/support/brokers/outgoing-message.ts';
import { BrokerError } from '../module/broker-error.ts';
import { kept, toEntry } from './sqs-entry.ts';

const entry = (more: object = {}, isFifo = false) => toEntry(messageOut({} as never, more), 3, isFifo);

test('ten attributes go along: ours first, then those of CloudEvents, then the others as they stand', () => {
  const others = ['a', 'b', 'c', 'd'].map((name) => [name, '1'] as const);
  const ours = [
    'x-posthorn-hops',
    'traceparent',
    'content-type',
    'event-type',
    'webhook-signature',
    'webhook-timestamp',
    'webhook-id',
  ].map((name) => [name, '1'] as const);
  const names = kept([...others, ['ce-type', '1'], ...ours]).map(([name]) => name);
  expect(names).toEqual([...ours.map(([name]) => name).toReversed(), 'ce-type', 'a', 'b']);
});

test.each([
  ['empty', ['a', '']],
  ['a control character', ['a', 'x\u0001']],
  ['a half surrogate pair', ['a', '\ud83d']],
  ['a name of the service', ['AWS.trace', '1']],
  ['a name with two dots in a row', ['a..b', '1']],
  ['a name with a dot at its end', ['a.', '1']],
  ['a name with other letters', ['größe', '1']],
] as [string, readonly [string, string]][])('a header is left out: %s', (_, header) => {
  expect(kept([header, ['good', 'ü\n']])).toEqual([['good', 'ü\n']]);
});

test.each([
  ['a control character', Buffer.from('a\u0001')],
  ['bytes that are not UTF-8', Buffer.from([0xff])],
])('a body with %s cannot be carried', (_, body) => {
  const refused = entry({ body });
  expect(refused).toBeInstanceOf(BrokerError);
  expect(refused).toMatchObject({ code: 'message_unfit' });
});

test('in a FIFO queue the ordering key is the group, and the id of the webhook drops repeats', () => {
  expect(entry({ id: 'msg_1', orderingKey: 'account-7' }, true)).toMatchObject({
    Id: '3',
    MessageGroupId: 'account-7',
    MessageDeduplicationId: 'msg_1',
  });
  // Without a key it waits for no other.
  expect(entry({ id: 'msg_1' }, true)).toMatchObject({ MessageGroupId: 'msg_1' });
  const long = 'ä'.repeat(200);
  const hash = createHash('sha256').update(long).digest('hex');
  expect(entry({ orderingKey: long }, true)).toMatchObject({ MessageGroupId: hash });
  expect(entry({ orderingKey: '' }, true)).toMatchObject({ MessageGroupId: '-' });
  expect(entry({ orderingKey: 'k' })).not.toHaveProperty('MessageGroupId');
});
