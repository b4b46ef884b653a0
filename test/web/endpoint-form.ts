import { generateKeyPairSync } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Receiver } from '../support/servers/receiver.ts';
import { violations } from './axe.ts';
import type { World } from './world.ts';

const pem = (name: string) => readFile(join(import.meta.dirname, '../support/certificates', name), 'utf8');

/** The page of a new endpoint, and its form. */
async function openEndpoint({ page, app, open }: World) {
  const project = await app.newProject();
  const receiver = await Receiver.start();
  const endpoint = await project.post('/endpoints', { name: 'Shop', url: receiver.url });
  const dialog = page.getByRole('dialog');
  const press = () => dialog.getByRole('button', { name: 'Save endpoint' }).click();
  await open(`endpoints/${endpoint.uid}`, project.projectId);
  return {
    receiver,
    dialog,
    press,
    stored: () => project.get(`/endpoints/${endpoint.uid}`),
    put: (change: object) => project.put(`/endpoints/${endpoint.uid}`, change),
    field: (label: string) => dialog.getByLabel(label, { exact: true }),
    unfold: (label: string) => dialog.getByText(label, { exact: true }).click(),
    edit: () => page.getByRole('button', { name: 'Edit…' }).click(),
    save: async () => {
      await press();
      await dialog.waitFor({ state: 'detached' });
    },
  };
}

export function endpointFormTests(get: () => World): void {
  it('an endpoint signs in with OAuth 2 and a client certificate, and its form keeps keys that it does not show', async () => {
    const { page } = get();
    const { receiver, dialog, press, stored, field, unfold, edit, save } = await openEndpoint(get());
    receiver.answerAlways((_request, response) => response.end('{"access_token":"t","expires_in":60}'));
    await edit();
    await field('Authentication').selectOption('OAuth 2.0');
    await field('Token URL').fill('ftp://127.0.0.1/token');
    await field('Client ID').fill('shop');
    await field('Client secret').fill(' s3 ');
    await field('Scope').fill('orders');
    expect(await violations(page)).toEqual([]);
    await press();
    await dialog.getByText('Must be an http or https URL with a host.').waitFor();
    expect(await field('Token URL').getAttribute('aria-invalid')).toBe('true');
    await field('Token URL').fill(`${receiver.url}/token`);
    await dialog.getByRole('button', { name: 'Ask for a token' }).click();
    await dialog.getByText(/A token was given/).waitFor();
    await unfold('Client certificate');
    await field('Certificate (PEM)').fill(await pem('client.pem'));
    await press();
    await dialog.getByText('Is required with client_cert.').waitFor();
    await field('Private key (PEM)').fill(await pem('client.key'));
    await save();
    const oauth2 = {
      url: `${receiver.url}/token`,
      client_id: 'shop',
      authentication_type: 'shared_secret',
      client_secret: ' s3 ',
      scope: 'orders',
    };
    const first = await stored();
    expect(first.authentication).toEqual({ type: 'oauth2', oauth2 });
    expect(first.mtls_client_cert.client_key.trim()).toBe((await pem('client.key')).trim());

    const jwk = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
    await edit();
    await field('Client authentication').selectOption('Signed assertion (JWT)');
    await field('Private key (JWK)').fill('{"kty": ');
    await press();
    await dialog.getByText(/This is not valid JSON/).waitFor();
    await field('Private key (JWK)').fill(JSON.stringify(jwk));
    // The same certificate with a line more is a change, and keeps the key.
    await field('Certificate (PEM)').fill(`${await pem('client.pem')}\n${await pem('ca.pem')}`);
    await save();
    await edit();
    expect(await field('Private key (JWK)').inputValue()).toBe('');
    expect(await field('Private key (PEM)').inputValue()).toBe('');
    await field('Scope').fill('orders refunds');
    await save();
    const second = await stored();
    expect(second.authentication.oauth2).toMatchObject({ signing_key: jwk, scope: 'orders refunds' });
    expect(second.authentication.oauth2).not.toHaveProperty('client_secret');
    expect(second.mtls_client_cert.client_key).toBe(first.mtls_client_cert.client_key);
    expect(second.mtls_client_cert.client_cert).not.toBe(first.mtls_client_cert.client_cert);

    await edit();
    await field('Authentication').selectOption('None');
    await field('Certificate (PEM)').fill('');
    await save();
    expect(await stored()).toMatchObject({ authentication: null });
    expect(await stored()).not.toHaveProperty('mtls_client_cert');
    await receiver.stop();
  });

  it('an endpoint is described, and its body, signatures and alerts are set', async () => {
    const { page } = get();
    const { receiver, dialog, press, stored, put, field, unfold, edit, save } = await openEndpoint(get());
    await edit();
    await field('Description').fill('Orders of the shop ☕');
    await unfold('Body and signatures');
    await field('Body').selectOption('Form fields');
    await field('Format').selectOption('type, timestamp and data');
    await field('webhook-id').selectOption('Id of the event');
    await dialog.getByLabel('Timestamp in the Convoy signature').uncheck();
    await dialog.getByLabel('Add an Ed25519 signature').check();
    await field('Metadata').fill('plan: gold');
    await field('User agent').fill('Acme/1.0');
    await field('Final status codes').fill('410, soon');
    await unfold('Headers');
    await field('Headers of every delivery').fill('X-Tenant: acme\nX-Link: a:b');
    await unfold('Alerts to Slack or Teams');
    await field('Slack webhook').fill('ftp://127.0.0.1/slack');
    await field('Teams webhook').fill(`${receiver.url}/teams`);
    expect(await violations(page)).toEqual([]);
    await press();
    await dialog.getByText(/^soon: /).waitFor();
    await field('Final status codes').fill('410 404');
    await press();
    await dialog.getByText('Must be an http or https URL with a host.').waitFor();
    await field('Slack webhook').fill(`${receiver.url}/slack`);
    await save();
    const first = await stored();
    expect(first).toMatchObject({
      description: 'Orders of the shop ☕',
      content_type: 'application/x-www-form-urlencoded',
      cloudevents: '',
      advanced_signatures: false,
      signing_key: { type: 'ed25519' },
      slack_webhook_url: `${receiver.url}/slack`,
      teams_webhook_url: `${receiver.url}/teams`,
      headers: { 'X-Tenant': 'acme', 'X-Link': 'a:b' },
      metadata: { plan: 'gold' },
      envelope: 'standard',
      webhook_id: 'event',
      user_agent: 'Acme/1.0',
      final_status_codes: [410, 404],
    });
    await page.getByText('410, 404').waitFor();
    await page.getByText('Orders of the shop ☕').waitFor();

    await edit();
    await field('Name').fill('Shop 2');
    await save();
    expect(await stored()).toEqual({ ...first, name: 'Shop 2', updated_at: expect.any(String) });

    await edit();
    await unfold('Body and signatures');
    await dialog.getByLabel('Add an Ed25519 signature').uncheck();
    await field('Format').selectOption('CloudEvents: structured');
    await field('Slack webhook').fill('');
    await save();
    const cloud = { cloudevents: 'structured', envelope: 'standard', envelope_fields: {} };
    expect(await stored()).toMatchObject({ signing_key: null, slack_webhook_url: '', ...cloud });

    // An envelope that only the API can set stays until another format is chosen.
    const envelope_fields = { kind: 'type', body: 'data' };
    await put({ cloudevents: '', envelope_fields });
    await page.reload();
    await edit();
    expect(await field('Format').inputValue()).toBe('own');
    await save();
    expect(await stored()).toMatchObject({ cloudevents: '', envelope: 'standard', envelope_fields });
    await edit();
    await unfold('Body and signatures');
    await field('Format').selectOption('The payload alone');
    await save();
    expect(await stored()).toMatchObject({ cloudevents: '', envelope: 'none', envelope_fields: {} });
    await receiver.stop();
  });
}
