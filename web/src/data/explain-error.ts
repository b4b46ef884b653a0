import { type FieldProblem, PosthornError } from 'posthorn-client';
import { FieldError, problemSentence } from './field-error.ts';

/** An error of a call in words: the problem, its cause, and the next step. */
export interface Explained {
  title: string;
  text: string;
  requestId: string | undefined;
  /** The call may succeed when it is made again. */
  mayPass: boolean;
  /** The page that helps. */
  leadsTo?: { href: string; name: string };
}

/** The value of a field that takes JSON. */
export function fieldJson(field: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new FieldError({
      field,
      problem: `This is not valid JSON: ${error instanceof Error ? error.message : String(error)}`,
    });
  }
}

export function explainError(error: unknown): Explained {
  if (error instanceof FieldError)
    return { title: 'A field is not valid', text: error.message, requestId: undefined, mayPass: true };
  if (!(error instanceof PosthornError))
    return { title: 'This page has a fault', text: String(error), requestId: undefined, mayPass: true };
  const { requestId, status, message: text } = error;
  if (status === 401)
    return {
      title: 'You are signed out',
      text: 'Sign in again to go on.',
      requestId,
      mayPass: false,
      leadsTo: { href: '/sign-in', name: 'Sign in' },
    };
  if (error.code === 'second_factor_required')
    return {
      title: 'A second factor is required here',
      text: 'Set one up, or send a code, in your account.',
      requestId,
      mayPass: false,
      leadsTo: { href: '/account', name: 'Your account' },
    };
  if (status === 403)
    return {
      title: 'You may not see this',
      text: `${text} Ask an administrator of the project for a role that may.`,
      requestId,
      mayPass: false,
    };
  if (status === 404)
    return {
      title: 'Not found',
      text: `${text} It may have been deleted, or belong to another project.`,
      requestId,
      mayPass: false,
    };
  if (status === 0)
    return {
      title: 'The server does not respond',
      text: `${text}. Check that Posthorn runs and that you are online.`,
      requestId,
      mayPass: true,
    };
  return { title: 'That did not work', text, requestId, mayPass: true };
}

export const errorText = (error: unknown): string => explainError(error).text;

/** For a sign-in, where 401 does not mean that a session has ended. */
export const refusalText = (error: unknown): string =>
  error instanceof PosthornError && error.status === 401 ? error.message : errorText(error);

/** The fields that an error is about, each with a sentence to stand below it. */
export function fieldProblems(error: unknown): readonly FieldProblem[] {
  if (error instanceof FieldError) return error.problems;
  if (!(error instanceof PosthornError)) return [];
  return error.fields.map(({ field, problem }) => ({ field, problem: problemSentence(problem) }));
}
