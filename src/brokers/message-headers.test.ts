import { expect, test } from 'vitest';
import { outgoing } from '../../test/support/brokers/outgoing-message.ts';
import { messageHeaders } from './message-headers.ts';

const kafka = { type: 'kafka', kafka: {} } as never;

test('names are in lower case, and attributes of CloudEvents have the prefix of their binding', () => {
  const headers = [
    ['Content-Type', 'application/json'],
    ['ce-subject', 'a%20b'],
  ] as const;
  expect(messageHeaders(outgoing(kafka, { headers, cloudEvents: 'binary' }))).toEqual([
    ['content-type', 'application/json'],
    ['ce_subject', 'a b'],
  ]);
});

test('values are as they are in UTF-8, so that one that comes back is known', () => {
  const headers = [['event-type', 'x\ud83d']] as const;
  expect(messageHeaders(outgoing(kafka, { headers }))).toEqual([['event-type', 'x\ufffd']]);
});
