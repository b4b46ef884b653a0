import { hmacVerifier } from './hmac.ts';
import { morePresets } from './more-presets.ts';
import type { ProviderPreset } from './provider-preset.ts';
import { compileSecretMatcher } from './signature.ts';
import { signedElements } from './signed-elements.ts';
import { standardWebhooksVerifier } from './standard-webhooks.ts';
import { twilioVerifier } from './twilio.ts';
import { twitterEventType, twitterVerifier } from './twitter.ts';
import { slackChallenge, v0Signature } from './v0-signature.ts';
import { readHeader, refused, type Verifier, verified } from './verifier.ts';

const standardWebhooks = {
  needsSecret: true,
  secretName: 'signing secret (whsec_...)',
  signatureHeaders: ['webhook-signature', 'svix-signature'],
  otherHeaders: ['webhook-id', 'webhook-timestamp', 'svix-id', 'svix-timestamp'],
  eventTypeLocation: 'request.body.type',
  compile: standardWebhooksVerifier,
};

export const providerPresets: readonly ProviderPreset[] = [
  {
    name: 'github',
    title: 'GitHub',
    needsSecret: true,
    secretName: 'webhook secret',
    signatureHeaders: ['x-hub-signature-256', 'x-hub-signature'],
    otherHeaders: [],
    eventTypeLocation: 'request.header.X-GitHub-Event',
    compile: (secret) =>
      hmacVerifier({
        header: 'x-hub-signature-256',
        hash: 'SHA256',
        encoding: 'hex',
        prefix: 'sha256=',
        secret,
      }),
  },
  {
    name: 'shopify',
    title: 'Shopify',
    needsSecret: true,
    secretName: 'client secret',
    signatureHeaders: ['x-shopify-hmac-sha256'],
    otherHeaders: [],
    eventTypeLocation: 'request.header.X-Shopify-Topic',
    compile: (secret) =>
      hmacVerifier({ header: 'x-shopify-hmac-sha256', hash: 'SHA256', encoding: 'base64', secret }),
  },
  {
    name: 'twitter',
    title: 'X (Twitter)',
    needsSecret: true,
    secretName: 'consumer secret',
    signatureHeaders: ['x-twitter-webhooks-signature'],
    otherHeaders: [],
    eventTypeOf: { description: 'the name of the field `*_events` or `*_event`', read: twitterEventType },
    compile: twitterVerifier,
  },
  {
    name: 'stripe',
    title: 'Stripe',
    needsSecret: true,
    secretName: 'endpoint signing secret (whsec_...)',
    signatureHeaders: ['stripe-signature'],
    otherHeaders: [],
    eventTypeLocation: 'request.body.type',
    compile: signedElements({
      header: 'stripe-signature',
      separator: ',',
      time: 't',
      signature: 'v1',
      joint: '.',
    }),
  },
  {
    name: 'slack',
    title: 'Slack',
    needsSecret: true,
    secretName: 'signing secret',
    signatureHeaders: ['x-slack-signature'],
    otherHeaders: ['x-slack-request-timestamp'],
    eventTypeLocation: 'request.body.event.type',
    compile: v0Signature({ signature: 'x-slack-signature', time: 'x-slack-request-timestamp' }),
    handshake: slackChallenge,
  },
  { name: 'standard_webhooks', title: 'Standard Webhooks', ...standardWebhooks },
  { name: 'svix', title: 'Svix', ...standardWebhooks },
  {
    name: 'gitlab',
    title: 'GitLab',
    needsSecret: true,
    secretName: 'signing token (whsec_...) or secret token',
    signatureHeaders: ['x-gitlab-token', 'webhook-signature'],
    otherHeaders: ['webhook-id', 'webhook-timestamp'],
    eventTypeLocation: 'request.body.object_kind',
    compile: gitlabVerifier,
  },
  {
    name: 'twilio',
    title: 'Twilio',
    needsSecret: true,
    secretName: 'auth token',
    signatureHeaders: ['x-twilio-signature'],
    otherHeaders: [],
    compile: twilioVerifier,
  },
  ...morePresets,
];

export function findPreset(name: string): ProviderPreset | undefined {
  return providerPresets.find((preset) => preset.name === name);
}

/**
 * GitLab has two settings. A signing token (`whsec_...`) signs by Standard Webhooks. A secret token is sent
 * as it is. The form of the secret decides, and there is no fallback from one to the other.
 */
function gitlabVerifier(secret: string): Verifier {
  if (secret.startsWith('whsec_')) return standardWebhooksVerifier(secret);
  const matches = compileSecretMatcher(secret);
  return (request) => {
    const reading = readHeader(request, 'x-gitlab-token');
    if (!reading.ok) return reading;
    return matches(reading.value) ? verified : refused('header x-gitlab-token does not contain the secret');
  };
}
