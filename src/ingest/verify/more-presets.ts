import { discordPing, discordVerifier } from './discord.ts';
import { hmacVerifier } from './hmac.ts';
import type { ProviderPreset } from './provider-preset.ts';
import { linearEventType, linearVerifier, mailgunVerifier } from './signed-body.ts';
import { signedElements } from './signed-elements.ts';
import { hubspotEventType, hubspotVerifier, squareVerifier } from './signed-url.ts';
import { v0Signature, zoomChallenge } from './v0-signature.ts';

const signed = { needsSecret: true, otherHeaders: [] };

/** The presets that Convoy does not have, nor the first release. */
export const morePresets: readonly ProviderPreset[] = [
  {
    ...signed,
    name: 'paddle',
    title: 'Paddle Billing',
    secretName: 'secret key of the destination (pdl_ntfset_...)',
    signatureHeaders: ['paddle-signature'],
    eventTypeLocation: 'request.body.event_type',
    compile: signedElements({
      header: 'paddle-signature',
      separator: ';',
      time: 'ts',
      signature: 'h1',
      joint: ':',
    }),
  },
  {
    ...signed,
    name: 'zoom',
    title: 'Zoom',
    secretName: 'secret token',
    signatureHeaders: ['x-zm-signature'],
    otherHeaders: ['x-zm-request-timestamp'],
    eventTypeLocation: 'request.body.event',
    compile: v0Signature({ signature: 'x-zm-signature', time: 'x-zm-request-timestamp' }),
    handshake: zoomChallenge,
  },
  {
    ...signed,
    name: 'discord',
    title: 'Discord',
    secretName: 'public key of the application',
    signatureHeaders: ['x-signature-ed25519'],
    otherHeaders: ['x-signature-timestamp'],
    eventTypeLocation: 'request.body.event.type',
    compile: discordVerifier,
    handshake: discordPing,
    refusesWith401: true,
  },
  {
    ...signed,
    name: 'linear',
    title: 'Linear',
    secretName: 'signing secret',
    signatureHeaders: ['linear-signature'],
    eventTypeOf: { description: '`type` and `action`, such as `Issue.create`', read: linearEventType },
    compile: linearVerifier,
  },
  {
    ...signed,
    name: 'typeform',
    title: 'Typeform',
    secretName: 'secret of the webhook',
    signatureHeaders: ['typeform-signature'],
    eventTypeLocation: 'request.body.event_type',
    compile: (secret) =>
      hmacVerifier({
        header: 'typeform-signature',
        hash: 'SHA256',
        encoding: 'base64',
        prefix: 'sha256=',
        secret,
      }),
  },
  {
    ...signed,
    name: 'hubspot',
    title: 'HubSpot',
    secretName: 'client secret',
    signatureHeaders: ['x-hubspot-signature-v3', 'x-hubspot-signature'],
    otherHeaders: ['x-hubspot-request-timestamp'],
    eventTypeOf: { description: '`subscriptionType`, if all events have the same', read: hubspotEventType },
    compile: hubspotVerifier,
  },
  {
    ...signed,
    name: 'mailgun',
    title: 'Mailgun',
    secretName: 'HTTP webhook signing key',
    signatureHeaders: [],
    signatureIn: '`signature` of the body; covers no event',
    eventTypeLocation: 'request.body.event-data.event',
    compile: mailgunVerifier,
  },
  {
    ...signed,
    name: 'square',
    title: 'Square',
    secretName: 'signature key',
    signatureHeaders: ['x-square-hmacsha256-signature', 'x-square-signature'],
    eventTypeLocation: 'request.body.type',
    compile: squareVerifier,
  },
  {
    ...signed,
    name: 'intercom',
    title: 'Intercom',
    secretName: 'client secret',
    signatureHeaders: ['x-hub-signature'],
    eventTypeLocation: 'request.body.topic',
    compile: (secret) =>
      hmacVerifier({ header: 'x-hub-signature', hash: 'SHA1', encoding: 'hex', prefix: 'sha1=', secret }),
  },
  {
    ...signed,
    name: 'pagerduty',
    title: 'PagerDuty',
    secretName: 'secret of the subscription',
    signatureHeaders: ['x-pagerduty-signature'],
    eventTypeLocation: 'request.body.event.event_type',
    compile: signedElements({
      header: 'x-pagerduty-signature',
      separator: ',',
      time: null,
      signature: 'v1',
      joint: '',
    }),
  },
  {
    ...signed,
    name: 'calendly',
    title: 'Calendly',
    secretName: 'signing key',
    signatureHeaders: ['calendly-webhook-signature'],
    eventTypeLocation: 'request.body.event',
    compile: signedElements({
      header: 'calendly-webhook-signature',
      separator: ',',
      time: 't',
      signature: 'v1',
      joint: '.',
    }),
  },
];
