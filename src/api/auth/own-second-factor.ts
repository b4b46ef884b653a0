import type { FastifyInstance } from 'fastify';
import {
  beginSecondFactor,
  confirmSecondFactor,
  passSecondFactor,
  removeSecondFactor,
  renewRecoveryCodes,
} from '../../people/second-factor.ts';
import { RequiredText, Type } from '../../platform/type.ts';
import type { ChangeContext } from '../http/context.ts';
import { Nothing } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';
import { enter, visitorOf } from './me.ts';
import { selfOf } from './own-account.ts';
import { Me } from './person-schema.ts';

const path = '/auth/second-factor';
const route = operationsOf('Own account');
const Code = Type.Object({
  code: RequiredText(64, 'A code of the app. Where a second factor is set up, also a recovery code.'),
});
const RecoveryCodes = Type.Array(Type.String(), {
  description: 'Each works once. They are shown this once.',
});

/** The second factor of the own account: codes of an authenticator app. */
export function registerOwnSecondFactor(app: FastifyInstance, context: ChangeContext): void {
  const { people } = context;
  route.post(app, `${path}/begin`, {
    id: 'beginSecondFactor',
    summary: 'Create a secret for an authenticator app. It counts once a code of it was confirmed.',
    status: 201,
    message: 'Secret created',
    data: Type.Object({
      secret: Type.String({ description: 'For typing into the app.' }),
      url: Type.String({ description: 'For a QR code.' }),
    }),
    access: 'session',
    handle: (call) => beginSecondFactor(people, selfOf(call)),
  });
  route.post(app, `${path}/confirm`, {
    id: 'confirmSecondFactor',
    summary:
      'Switch the second factor on with its first code. All other sessions end, and this one gets a new cookie.',
    body: Code,
    message: 'Second factor set up',
    data: Type.Object({ recovery_codes: RecoveryCodes, me: Me }),
    access: 'session',
    handle: async (call, request, reply) => {
      const wanted = { ...selfOf(call), code: call.body.code };
      const { codes, signedIn } = await confirmSecondFactor(people, wanted, visitorOf(context, request));
      return { recovery_codes: codes, me: await enter(context, reply, signedIn) };
    },
  });
  route.post(app, path, {
    id: 'passSecondFactor',
    summary: 'Send a code, for a session that began without one. The session gets a new cookie.',
    body: Code,
    message: 'Code accepted',
    data: Me,
    access: 'session',
    handle: async (call, request, reply) => {
      const wanted = { ...selfOf(call), code: call.body.code };
      return enter(context, reply, await passSecondFactor(people, wanted, visitorOf(context, request)));
    },
  });
  route.post(app, `${path}/remove`, {
    id: 'removeSecondFactor',
    summary: 'Remove the second factor.',
    body: Code,
    message: 'Second factor removed',
    data: Nothing,
    access: 'session',
    handle: (call, request) =>
      removeSecondFactor(people, { ...selfOf(call), code: call.body.code }, visitorOf(context, request)),
  });
  route.post(app, `${path}/recovery-codes`, {
    id: 'renewRecoveryCodes',
    summary: 'Create new recovery codes. The earlier ones stop working.',
    body: Code,
    status: 201,
    message: 'Recovery codes created',
    data: RecoveryCodes,
    access: 'session',
    handle: (call, request) =>
      renewRecoveryCodes(people, { ...selfOf(call), code: call.body.code }, visitorOf(context, request)),
  });
}
