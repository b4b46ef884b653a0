import { expect, test } from 'vitest';
import { brokerForms } from '../../data/broker-forms.ts';
import { settingsIn } from './settings.ts';
import { brokerWords as de } from './words-de.ts';
import { brokerWords as es } from './words-es.ts';
import { brokerWords as fr } from './words-fr.ts';

const kafka = { prefix: 'broker.kafka', form: brokerForms.kafka };

function typed(values: Record<string, string>): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(values)) data.set(`broker.kafka.${name}`, value);
  return data;
}

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
  expect(auth({ 'auth.tls': 'on' })).toMatchObject({ tls: true, password: undefined });
  expect(auth({})).toBeUndefined();
});

test('labels and hints have words in every language', () => {
  const fields = Object.values(brokerForms).flatMap((form) =>
    Object.values<{ label: string; hint?: string }>(form),
  );
  for (const { labels, hints } of [de, es, fr]) {
    expect(fields.map(({ label }) => label).filter((label) => labels[label] === undefined)).toEqual([]);
    const said = fields.flatMap(({ hint }) => (hint === undefined ? [] : [hint]));
    expect(said.filter((hint) => hints[hint] === undefined)).toEqual([]);
  }
});
