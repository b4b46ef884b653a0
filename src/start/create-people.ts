import type { Mailer } from '../alerts/mailer.ts';
import { PasswordHasher } from '../people/password-hasher.ts';
import type { Mail, PeopleDeps } from '../people/people-deps.ts';
import type { Logger } from '../platform/logger.ts';
import type { Config } from '../settings/settings.ts';

export function peopleRules(config: Config): PeopleDeps['rules'] {
  return {
    sessionSeconds: config.sessionHours * 3_600,
    idleSeconds: config.sessionIdleMinutes * 60,
    hasPasswords: config.passwordSignIn === 'on',
    needsSecondFactor: config.secondFactor === 'required',
  };
}

export function createPeople(
  deps: Omit<PeopleDeps, 'failed' | 'hasher' | 'sendMail'> & { mailer: Mailer | null; log: Logger },
): PeopleDeps {
  const { mailer, log, ...rest } = deps;
  const failed = (error: Error, what: string) => log.warn({ err: error.message }, what);
  const send = (to: Mailer) => (mail: Mail) => {
    to.send({ ...mail, projectId: '' }).catch((error: Error) =>
      failed(error, `the mail "${mail.subject}" could not be sent`),
    );
  };
  return {
    ...rest,
    failed,
    hasher: new PasswordHasher(deps.sealer),
    sendMail: mailer === null ? null : send(mailer),
  };
}
