import { expect, test } from 'vitest';
import { Secret } from '../platform/secret.ts';
import { type Alert, alertData, alertLines, alertTitle } from './alert.ts';

const alert: Alert = {
  kind: 'disabled',
  state: 'raised',
  endpoint: {
    id: 'e1',
    project_id: 'p1',
    name: 'orders',
    delivery: 'push',
    url: 'https://user:password@example.com/hook?token=abc',
    support_email: 'owner@example.com',
    secret: new Secret({
      slack_webhook_url: 'https://slack.example/secret',
      teams_webhook_url: 'https://teams.example/secret',
    }),
  },
  subscription: null,
  summary: 'It was made inactive: it answered 410 Gone.',
  lastFailure: { deliveryId: 'd1', status: '410 Gone', reason: 'The endpoint answered 410 Gone' },
};

test('an alert names the endpoint, the event, the last status and reason, and the next step', () => {
  expect(alertTitle(alert)).toBe('Webhook endpoint orders needs attention');
  expect(alertLines(alert)).toEqual([
    'Endpoint: orders (e1)',
    'URL: https://example.com/hook',
    'What happened: It was made inactive: it answered 410 Gone.',
    'Last status: 410 Gone',
    'Last reason: The endpoint answered 410 Gone',
    expect.stringContaining('activate it and retry'),
  ]);
});

test('an endpoint that has no URL has no line for one', () => {
  const pull: Alert = { ...alert, endpoint: { ...alert.endpoint, delivery: 'pull', url: '' } };
  expect(alertLines(pull).filter((line) => /^(URL|Broker):/.test(line))).toEqual([]);
});

test('an all-clear needs no action', () => {
  const cleared: Alert = { ...alert, state: 'cleared', lastFailure: null };
  expect(alertTitle(cleared)).toBe('Webhook endpoint orders recovered');
  expect(alertLines(cleared).at(-1)).toBe('What to do: Nothing.');
});

test('untrusted text cannot add lines or fill the message', () => {
  const hostile: Alert = {
    ...alert,
    endpoint: { ...alert.endpoint, name: 'a\r\nBcc: x@example.com\u2028b', url: 'no url' },
    lastFailure: { deliveryId: 'd1', status: null, reason: 'x'.repeat(10_000) },
  };
  expect(alertTitle(hostile)).toBe('Webhook endpoint a Bcc: x@example.com b needs attention');
  const lines = alertLines(hostile);
  expect(lines.join('')).not.toMatch(/[\r\n\u2028]/);
  expect(lines).toContain('Last status: no response');
  expect(lines.join('').length).toBeLessThan(2_000);
});

test('a meta event omits the addresses of chat services', () => {
  expect(JSON.stringify(alertData(alert, 'https://p'))).not.toMatch(/slack|teams/);
});
