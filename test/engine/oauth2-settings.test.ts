import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

/** authentication.oauth2 as a caller gives it, seen by the token server and by the endpoint. */
const app = await shared(startTestApp());
/** Both of them, by path. */
let receiver: Receiver;
let number = 0;

beforeEach(async () => {
  receiver = await Receiver.start();
  return () => receiver.stop();
});

const formsAsked = () =>
  receiver.at('/token').map(({ body }) => Object.fromEntries(new URLSearchParams(body.toString())));

/** An endpoint with these settings; what is returned sends it an event and gives back its Authorization header. */
async function deliverTo(
  oauth2: object,
  answer: (count: number) => object = () => ({ access_token: 't' }),
): Promise<() => Promise<string | undefined>> {
  receiver.answerAlways(({ path }, response) => {
    response.end(path === '/token' ? JSON.stringify(answer(receiver.at('/token').length)) : '');
  });
  number += 1;
  const event_type = `oauth2.${number}`;
  const settings = { url: `${receiver.url}/token`, client_id: 'me', ...oauth2 };
  await subscribe(app.project, `${receiver.url}/hook`, {
    eventTypes: [event_type],
    endpoint: { authentication: { type: 'oauth2', oauth2: settings } },
  });
  return async () => {
    const before = receiver.at('/hook').length;
    await app.project.post('/events/broadcast', { event_type, data: {} });
    return (await receiver.received(before + 1, '/hook'))[before]?.headers.authorization;
  };
}

const SHARED = { authentication_type: 'shared_secret', client_secret: 'hush' };

// proves Endpoints: authentication.oauth2.url, authentication.oauth2.client_id
// proves Endpoints: authentication.oauth2.client_secret, authentication.oauth2.scope
// proves Endpoints: authentication.oauth2.audience, authentication.oauth2.grant_type
test('the token request has the configured secret, grant, scope and audience', async () => {
  const more = { grant_type: 'urn:example:other', scope: 'a b', audience: 'them' };
  const deliver = await deliverTo({ ...SHARED, ...more });
  expect(await deliver()).toBe('Bearer t');
  expect(formsAsked()).toEqual([{ client_id: 'me', client_secret: 'hush', ...more }]);
});

// proves Endpoints: authentication.oauth2.authentication_type, authentication.oauth2.signing_key
// proves Endpoints: authentication.oauth2.signing_algorithm, authentication.oauth2.issuer
// proves Endpoints: authentication.oauth2.subject
test('an assertion is signed by the configured key and algorithm, and names issuer and subject', async () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' });
  const jwk = privateKey.export({ format: 'jwk' });
  const deliver = await deliverTo({
    authentication_type: 'client_assertion',
    signing_algorithm: 'ES384',
    signing_key: { ...jwk, kid: 'key-1' },
    issuer: 'us',
    subject: 'on their behalf',
  });
  expect(await deliver()).toBe('Bearer t');
  const [form] = formsAsked();
  expect(form).not.toHaveProperty('client_secret');
  const [header = '', claims = '', signature = ''] = form?.['client_assertion']?.split('.') ?? [];
  const read = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString());
  expect(read(header)).toEqual({ alg: 'ES384', typ: 'JWT', kid: 'key-1' });
  expect(read(claims)).toMatchObject({ iss: 'us', sub: 'on their behalf' });
  const key = { key: createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' } as const;
  const signed = Buffer.from(`${header}.${claims}`);
  expect(verify('sha384', signed, key, Buffer.from(signature, 'base64url'))).toBe(true);
});

// proves Endpoints: authentication.oauth2.field_mapping.access_token
// proves Endpoints: authentication.oauth2.field_mapping.token_type
// proves Endpoints: authentication.oauth2.field_mapping.expires_in, authentication.oauth2.expiry_time_unit
test('the token response is read by the configured fields and time unit', async () => {
  // By the usual names there is no token; in seconds the first would last until long after this test.
  const deliver = await deliverTo(
    {
      ...SHARED,
      field_mapping: { access_token: 'tok', token_type: 'kind', expires_in: 'ttl' },
      expiry_time_unit: 'milliseconds',
    },
    (count) => ({ tok: `t${count}`, kind: 'MAC', ttl: 300 }),
  );
  expect(await deliver()).toBe('MAC t1');
  await eventually(deliver, 'MAC t2');
});
