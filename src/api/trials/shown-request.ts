import type { Static } from 'typebox';
import { HIDDEN, isCredentialName, visibleHeaders } from '../../domain/config/credential-headers.ts';
import type { ProjectConfig } from '../../domain/config/project-config.ts';
import { nullable, Type } from '../../platform/type.ts';
import type { FunctionRequest as SetRequest } from '../../routing/function-request.ts';
import { hideSecrets } from '../../routing/hidden-variables.ts';
import { FunctionRequest } from '../subscriptions/function-schema.ts';

export const functionOutcome = {
  request: nullable(FunctionRequest, 'Set by a function with `export const version = 2`; else null.'),
  cancelled: nullable(Type.String(), 'Why the function cancels the delivery; null if it does not.'),
};

export function shownRequest(
  request: SetRequest | null,
  config: ProjectConfig,
): Static<typeof FunctionRequest> | null {
  if (request === null) return null;
  const visible = visibleHeaders(config);
  const hide = (text: string) => hideSecrets(text, request.secrets);
  const hidden = (texts: Record<string, string>, isSecret: (name: string) => boolean) =>
    Object.fromEntries(
      Object.entries(texts).map(([name, text]) => [hide(name), isSecret(name) ? HIDDEN : hide(text)]),
    );
  return {
    set_headers: hidden(request.headers, (name) => isCredentialName(name, visible)),
    set_path: request.path === null ? null : hide(request.path),
    set_query: hidden(request.query, () => false),
  };
}
