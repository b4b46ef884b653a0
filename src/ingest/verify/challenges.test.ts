import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { IngestRequest } from '../request/ingest-request.ts';
import { apiKeyVerifier, basicAuthVerifier } from './credentials.ts';
import { discordPing } from './discord.ts';
import { hmacVerifier } from './hmac.ts';
import { findPreset } from './presets.ts';
import { linearEventType } from './signed-body.ts';
import { hubspotEventType } from './signed-url.ts';
import { twitterCrcResponse, twitterVerifier } from './twitter.ts';
import { slackChallenge, zoomChallenge } from './v0-signature.ts';

function post(body: string, headers: IngestRequest['headers']): IngestRequest {
  const url = 'https://hooks.example.com/ingest/abc';
  return { method: 'POST', path: '/ingest/abc', rawQuery: '', headers, body: Buffer.from(body), url };
}

const authorized = (authorization: string) => post('{}', { authorization });

describe('the Twitter challenge', () => {
  it('answers only a token, so it cannot be used to sign a payload', () => {
    for (const token of ['', '{"forged":true}', '{}', '[1]', '"text"', 'a b', 'a&b', 'x'.repeat(257), 'ü']) {
      expect(twitterCrcResponse('secret', token)).toBeNull();
    }
    expect(twitterCrcResponse('', 'token')).toBeNull();
  });

  it('cannot be used to sign a body that would be accepted', () => {
    const verify = twitterVerifier('secret');
    for (const token of ['12345', 'true', 'null', 'a=b', 'x'.repeat(256)]) {
      const answer = twitterCrcResponse('secret', token);
      const headers = { 'x-twitter-webhooks-signature': answer?.response_token };
      expect(answer).not.toBeNull();
      expect(verify(post(token, headers), 0).ok).toBe(false);
    }
  });
});

describe('the Slack challenge', () => {
  it('is found in a url_verification payload only', () => {
    expect(slackChallenge({ type: 'url_verification', challenge: '3eZbrw1a', token: 'x' })).toEqual({
      status: 200,
      type: 'text/plain',
      body: '3eZbrw1a',
    });
    const others = [null, 'url_verification', 1, [], {}, { type: 'event_callback', challenge: 'x' }];
    for (const payload of [...others, { type: 'url_verification', challenge: 5 }]) {
      expect(slackChallenge(payload)).toBeNull();
    }
    expect(slackChallenge({ type: 'url_verification', challenge: 'x'.repeat(1025) })).toBeNull();
  });
});

describe('the Zoom challenge', () => {
  const asked = (plainToken: unknown) => ({ event: 'endpoint.url_validation', payload: { plainToken } });

  it('is answered with the token and its digest', () => {
    const encryptedToken = createHmac('sha256', 'secret').update('qgg8vlvZRS6UYooatFL8Aw').digest('hex');
    expect(zoomChallenge(asked('qgg8vlvZRS6UYooatFL8Aw'), 'secret')).toEqual({
      status: 200,
      type: 'application/json',
      body: `{"plainToken":"qgg8vlvZRS6UYooatFL8Aw","encryptedToken":"${encryptedToken}"}`,
    });
  });

  it('signs no text that could be the signed text of a webhook', () => {
    const others = [null, [], { event: 'meeting.started' }, { event: 'endpoint.url_validation' }];
    for (const payload of [...others, asked(5), asked(''), asked('v0:1:{}'), asked('x'.repeat(257))])
      expect(zoomChallenge(payload, 'secret')).toBeNull();
  });
});

describe('the PING of Discord', () => {
  it('is answered by its type', () => {
    expect(discordPing({ type: 0 })).toMatchObject({ status: 204, body: '' });
    expect(discordPing({ type: 1 })).toMatchObject({ status: 200, body: '{"type":1}' });
    for (const payload of [null, [], {}, { type: 2 }, { type: '1' }]) expect(discordPing(payload)).toBeNull();
  });
});

describe('event types that are at no one place', () => {
  it('of Linear is made of type and action', () => {
    expect(linearEventType({ type: 'Issue', action: 'create' })).toBe('Issue.create');
    for (const payload of [
      null,
      {},
      { type: 'Issue' },
      { type: 'a b', action: 'c' },
      { type: {}, action: [] },
    ])
      expect(linearEventType(payload)).toBeNull();
  });

  it('of HubSpot is what all events of the request have', () => {
    const of = (...types: unknown[]) =>
      hubspotEventType(types.map((subscriptionType) => ({ subscriptionType })));
    expect(of('contact.creation', 'contact.creation')).toBe('contact.creation');
    expect([
      of('contact.creation', 'contact.deletion'),
      of(),
      of(5),
      of('a b'),
      hubspotEventType({}),
    ]).toEqual([null, null, null, null, null]);
  });
});

describe('a plain hmac verifier', () => {
  it('does not strip a prefix from the header', () => {
    const digest = createHmac('sha256', 's').update('{}').digest('hex');
    const verify = hmacVerifier({ header: 'X-Sig', hash: 'SHA256', secret: 's', encoding: 'hex' });
    expect(verify(post('{}', { 'x-sig': digest }), 0).ok).toBe(true);
    expect(verify(post('{}', { 'x-sig': digest.toUpperCase() }), 0).ok).toBe(true);
    expect(verify(post('{}', { 'x-sig': `sha256=${digest}` }), 0).ok).toBe(false);
    expect(verify(post('{}', { 'x-sig': `${digest}zz` }), 0).ok).toBe(false);
  });

  it('does not read a header from the prototype of the headers', () => {
    const verify = hmacVerifier({ header: 'constructor', hash: 'SHA256', secret: 's', encoding: 'hex' });
    expect(verify(post('{}', {}), 0)).toEqual({ ok: false, reason: 'header constructor is missing' });
  });
});

describe('Stripe', () => {
  const sign = (secret: string) => createHmac('sha256', secret).update('1000.{}').digest('hex');
  const check = (header: string) =>
    findPreset('stripe')?.compile('new')(post('{}', { 'stripe-signature': header }), 1_000_000);

  it('accepts any one v1 while a secret is being rolled, and ignores other schemes', () => {
    expect(check(`t=1000,v1=${sign('old')},v1=${sign('new')},v0=ff`)?.ok).toBe(true);
    expect(check(`t=1000,v1=${sign('old')},v0=${sign('new')}`)?.ok).toBe(false);
  });

  it('refuses two timestamps and none', () => {
    expect(check(`t=1000,t=1000,v1=${sign('new')}`)?.ok).toBe(false);
    expect(check(`v1=${sign('new')}`)?.ok).toBe(false);
  });
});

describe('basic_auth', () => {
  const token = (pair: string) => Buffer.from(pair).toString('base64');
  const verify = basicAuthVerifier({ username: 'ada', password: 'a:b' });

  it('accepts the scheme in any case and refuses other schemes and shapes', () => {
    expect(verify(authorized(`basic ${token('ada:a:b')}`), 0).ok).toBe(true);
    expect(verify(authorized(`Bearer ${token('ada:a:b')}`), 0).ok).toBe(false);
    expect(verify(authorized(token('ada:a:b')), 0).ok).toBe(false);
    expect(verify(authorized(`Basic ${token('ada:a:b')} x`), 0).ok).toBe(false);
  });

  it('refuses a wrong username, a wrong password and a missing colon', () => {
    for (const pair of ['eve:a:b', 'ada:a', 'ada:a:b:', 'ada', ':', '']) {
      expect(verify(authorized(`Basic ${token(pair)}`), 0).ok).toBe(false);
    }
  });
});

describe('api_key', () => {
  it('with a blank header name is the second word of Authorization, with any scheme', () => {
    const verify = apiKeyVerifier({ header_name: '', header_value: 'key' });
    for (const value of ['Bearer key', 'Token key', 'x key'])
      expect(verify(authorized(value), 0).ok).toBe(true);
    for (const value of ['key', 'Bearer', 'Bearer  key', 'Bearer key x', 'Bearer KEY']) {
      expect(verify(authorized(value), 0).ok).toBe(false);
    }
  });

  it('accepts a key outside ASCII as UTF-8 bytes that Node shows as latin1', () => {
    const verify = apiKeyVerifier({ header_name: 'X-Key', header_value: 'schlüssel' });
    const asReceived = Buffer.from('schlüssel', 'utf8').toString('latin1');
    expect(verify(post('', { 'x-key': asReceived }), 0).ok).toBe(true);
    expect(verify(post('', { 'x-key': 'schlussel' }), 0).ok).toBe(false);
  });

  it('does not confuse characters that agree in their low byte', () => {
    const verify = apiKeyVerifier({ header_name: 'X-Key', header_value: 'a' });
    expect(verify(post('', { 'x-key': '\u0161' }), 0).ok).toBe(false);
  });
});
