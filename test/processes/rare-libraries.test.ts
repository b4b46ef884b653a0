import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { httpSource, SECRET_KEY, startTestApp } from '../support/app.ts';
import { ApiClient } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { Program } from '../support/program.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';

const KAFKA = '@platformatic/kafka';
/** For mail, devices, sign-in at providers, client assertions and new passwords. typebox is for types only. */
const RARE = ['nodemailer', 'ws', 'openid-client', 'jose', '@zxcvbn-ts/core', 'typebox'];
/** For the OpenAPI document, and for that of an import. */
const DOCUMENTS = ['@fastify/swagger', 'yaml'];
const OTHERS = ['amqplib', '@aws-sdk/client-sqs', '@google-cloud/pubsub', 'pg-logical-replication'];

test('libraries of brokers and of rare features are loaded when they are first needed', async () => {
  const app = await startTestApp({ POSTHORN_ROLES: 'api' });
  onTestFinished(() => app.stop());
  const file = join(temporaryFolder(), 'packages');
  const program = new Program({
    command: [process.execPath, '--import', './test/support/suite/record-packages.ts', 'src/main.ts'],
    args: ['serve'],
    env: {
      PACKAGES_FILE: file,
      DATABASE_URL: app.database.url,
      POSTHORN_SECRET_KEY: SECRET_KEY,
      POSTHORN_PORT: '0',
      POSTHORN_EGRESS: 'any',
    },
  });
  const packages = async () => (await readFile(file, 'utf8')).split('\n');
  onTestFinished(() => program.end());
  const url = await program.ready();
  const made = await app.instance.post('/projects', { name: 'brokers', type: 'outgoing' });
  const project = new ApiClient(`${app.url}/api/v1/projects/${made.project.uid}`, made.api_key.key);
  await httpSource(project, { name: 'http' });
  const kafka = { brokers: ['127.0.0.1:1'], topic_name: 't' };
  const pub_sub = { type: 'kafka', workers: 1, kafka };
  const source = { name: 'broker', type: 'pub_sub', pub_sub };
  const { uid } = await project.post('/sources', { ...source, is_disabled: true });
  const before = await packages();
  expect(before).toContain('fastify');
  expect(before.filter((name) => [KAFKA, ...OTHERS, ...RARE, ...DOCUMENTS].includes(name))).toEqual([]);
  expect(before).toContain('undici');
  expect(before).not.toContain('undici/lib/web/fetch');
  await project.put(`/sources/${uid}`, { is_disabled: false });
  const after = await eventually(packages, (names) => names.includes(KAFKA));
  expect(after.filter((name) => [...OTHERS, ...RARE].includes(name))).toEqual([]);
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: object };
  expect(Object.keys(document.paths).length).toBeGreaterThan(100);
  expect(await packages()).toContain('@fastify/swagger');
});
