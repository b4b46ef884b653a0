import { useMutation } from '@tanstack/react-query';
import type { OAuth2 } from 'posthorn-client';
import { errorText } from '../../data/explain-error.ts';
import { useProject } from '../../data/project.ts';
import { Button } from '../../ui/controls/button.tsx';
import { Time } from '../../ui/text/time.tsx';

/** Asks the token server with what the form says, before it is saved. The token itself is not shown. */
export function TokenTest({ read }: { read(form: FormData): OAuth2 }) {
  const { api } = useProject();
  const ask = useMutation({
    mutationFn: async (form: FormData) => api.endpoints.testOAuth2({ oauth2: read(form) }),
  });
  const { data } = ask;
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
      <Button
        busy={ask.isPending && 'Asking'}
        onClick={({ currentTarget: { form } }) => {
          if (form?.reportValidity() === true) ask.mutate(new FormData(form));
        }}
      >
        Ask for a token
      </Button>
      <p role="status" className="min-w-0 flex-1 basis-48">
        {ask.error !== null && <span className="text-bad">{errorText(ask.error)}</span>}
        {data?.success === false && (
          <span className="inline-block text-bad first-letter:uppercase">{data.error}.</span>
        )}
        {data?.success === true && (
          <span>
            A token was given. It expires <Time at={data.expires_at} />.
          </span>
        )}
      </p>
    </div>
  );
}
