import { expect, test } from 'vitest';
import type { BrokerField } from '../../../../src/domain/brokers/broker-field.ts';
import { brokerFields, fieldsFor } from '../../../../src/domain/brokers/broker-fields.ts';
import { readSettings, type Settings, settingsIn } from './settings.ts';
import { brokerWords as de } from './words-de.ts';
import { brokerWords as es } from './words-es.ts';
import { brokerWords as fr } from './words-fr.ts';

type Kind = keyof typeof brokerFields;
const formOf = (kind: Kind) => fieldsFor(kind, 'destination');
const of = (kind: Kind): Settings => ({ prefix: `broker.${kind}`, form: formOf(kind) });
const kafka = of('kafka');

function typed(values: Record<string, string>, kind: Kind = 'kafka'): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(values)) data.set(`broker.${kind}.${name}`, value);
  return data;
}

const problemsOf = (kind: Kind, values: Record<string, string>): string[] =>
  readSettings(typed(values, kind), of(kind)).problems.map(
    ({ field, problem }) => `${field.slice('broker.'.length + kind.length + 1)}: ${problem}`,
  );

test('a group of which nothing is given is left out', () => {
  const data = typed({ brokers: 'a:1, b:2', topic: ' t ', 'auth.username': '', 'auth.password': '' });
  expect(settingsIn(data, kafka)).toEqual({ brokers: ['a:1', 'b:2'], topic: 't' });
});

test('an empty secret keeps the stored one, as it was typed, while its sign-in is used', () => {
  const stored = { auth: { type: 'plain', username: 'ada', password: ' hush ', tls: true } };
  const auth = (values: Record<string, string>) =>
    settingsIn(typed({ brokers: 'a:1', topic: 't', ...values }), { ...kafka, stored })['auth'];
  const signedIn = { 'auth.type': 'plain', 'auth.username': 'ada' };
  expect(auth(signedIn)).toMatchObject({ username: 'ada', password: ' hush ', tls: false });
  expect(auth({ ...signedIn, 'auth.password': ' new ' })).toMatchObject({ password: ' new ' });
  expect(auth({ 'auth.tls': 'on' })).toEqual({ type: undefined, tls: true });
  expect(auth({})).toBeUndefined();
  const key = { queue_name: 'q', access_key_id: 'id', secret_key: 'hush', default_region: 'eu-west-1' };
  const sqs = { queue_name: 'q', default_region: 'eu-west-1' };
  const changed = (values: Record<string, string>) =>
    settingsIn(typed({ ...sqs, ...values }, 'sqs'), { ...of('sqs'), stored: key });
  expect(changed({ access_key_id: 'id' })).toMatchObject({ secret_key: 'hush' });
  expect(changed({ credentials: 'workload' })).not.toHaveProperty('secret_key');
});

test('a form is checked by the same conditions and sentences as a request', () => {
  expect(problemsOf('kafka', { brokers: 'a:1 b', 'auth.type': 'scram' })).toEqual([
    'brokers.1: Must be host:port.',
    'topic: Is required.',
    'auth.username: Is required.',
    'auth.password: Is required.',
  ]);
  expect(problemsOf('amqp', { port: '0', 'auth.password': 'p' })).toEqual([
    'host: Is required.',
    'port: Must be a port number from 1 to 65535.',
    'auth.user: Is required.',
    'routing_key: Is required unless exchange is given.',
  ]);
  expect(problemsOf('amqp', { host: 'h', port: '567100', exchange: 'x'.repeat(256) })).toEqual([
    'port: Must not have more than 5 characters.',
    'exchange: Must have at most 255 bytes.',
  ]);
  const google = { project_id: 'p', topic_id: 't' };
  expect(problemsOf('google', google)).toEqual(['service_account: Is required.']);
  expect(problemsOf('google', { ...google, service_account: '{}' })).toEqual([
    'service_account: Must be base64 or an array of byte values, 65536 bytes at most.',
  ]);
  expect(problemsOf('google', { ...google, credentials: 'workload' })).toEqual([]);
});

test('labels and hints have words in every language', () => {
  const fields = (Object.keys(brokerFields) as Kind[])
    .flatMap((kind) => Object.values<BrokerField>(formOf(kind)))
    // Portals do not offer credentials of the machine.
    .filter(({ cloud }) => cloud === undefined);
  expect(fields.length).toBeGreaterThan(20);
  for (const { labels, hints } of [de, es, fr]) {
    expect(fields.map(({ label }) => label).filter((label) => labels[label] === undefined)).toEqual([]);
    const said = fields.flatMap(({ hint }) => (hint === undefined ? [] : [hint]));
    expect(said.filter((hint) => hints[hint] === undefined)).toEqual([]);
  }
});
