import type { PersonRow } from '../store/people/people.ts';
import type { LinkPurpose } from '../store/people/sign-in-links.ts';
import type { PeopleDeps } from './people-deps.ts';

const TEXTS = {
  invitation: {
    subject: 'Your invitation to Posthorn',
    text: 'You were invited to Posthorn. Open this link within 7 days to set up your account:',
  },
  reset: {
    subject: 'Reset your Posthorn password',
    text: 'A new password was requested for your account. Open this link within an hour to choose one. If you did not ask for it, ignore this mail:',
  },
  sign_in: {
    subject: 'Sign in to Posthorn',
    text: 'Open this link within 15 minutes to sign in:',
  },
} as const satisfies Record<LinkPurpose, { subject: string; text: string }>;

/** Does nothing if there is no mail server. */
export function mailLink(deps: PeopleDeps, person: PersonRow, purpose: LinkPurpose, link: string): void {
  const { subject, text } = TEXTS[purpose];
  deps.sendMail?.({ to: person.email, subject, text: `${text}\n\n${link}\n` });
}

const CHANGES = {
  password: 'The password of your account was changed.',
  email: 'Your account has another e-mail address now. Sign in with that one.',
  second_factor_on: 'The second factor of your account was switched on.',
  second_factor_off: 'The second factor of your account was switched off.',
  recovery_codes: 'Your account has new recovery codes. The earlier ones stopped working.',
} as const;

export type CredentialChange = keyof typeof CHANGES;

const ADVICE = 'If you did not expect this, tell an administrator at once.';

/** Tells people of a change that others could have made with a stolen session. Nothing is sent without a mail server. */
export function mailChange(deps: PeopleDeps, to: string, change: CredentialChange): void {
  const text = `${CHANGES[change]}\n\nPosthorn: ${deps.publicUrl()}\n${ADVICE}\n`;
  deps.sendMail?.({ to, subject: 'Your Posthorn account was changed', text });
}

/** Tells people that another may know a code of their authenticator app. */
export function mailUsedCode(deps: PeopleDeps, to: string, address: string): void {
  const what = `A code of your second factor was sent again from ${address}. It was refused, because a code works once.`;
  const text = `${what}\n\nPosthorn: ${deps.publicUrl()}\n${ADVICE}\n`;
  deps.sendMail?.({ to, subject: 'A used code of your Posthorn account was refused', text });
}
