import { useQuery } from '@tanstack/react-query';
import type { Project } from 'posthorn-client';
import { useState } from 'react';
import { May } from '../../dashboard/may.tsx';
import { PageBody } from '../../dashboard/page-body.tsx';
import { useMay } from '../../data/may.ts';
import { useProject } from '../../data/project.ts';
import { QueryView } from '../../parts/query-view.tsx';
import { useAct } from '../../parts/use-act.ts';
import { Button } from '../../ui/controls/button.tsx';
import { Check, SelectField, TextField } from '../../ui/controls/fields.tsx';
import { PageHead, Section } from '../../ui/page/section.tsx';
import { Id } from '../../ui/text/id.tsx';
import { BreakerFields } from './breaker-fields.tsx';
import { changedProject } from './changed-project.ts';
import { DeleteProject } from './delete-project.tsx';
import { EventFields } from './event-fields.tsx';
import { SigningKeys } from './signing-keys.tsx';
import { VariableFields } from './variable-fields.tsx';

export function Settings() {
  const { api, id } = useProject();
  const project = useQuery({ queryKey: [id, 'settings'], queryFn: () => api.projects.get(id) });
  return (
    <PageBody>
      <QueryView query={project} label="Loading the settings" rows={12}>
        {(data) => <Form key={data.updated_at} project={data} />}
      </QueryView>
    </PageBody>
  );
}

function Form({ project }: { project: Project }) {
  const { api } = useProject();
  const [deleting, setDeleting] = useState(false);
  const mayChange = useMay()('updateProject');
  const { config } = project;
  const save = useAct(
    (form: FormData) => api.projects.update(project.uid, changedProject(form)),
    () => 'Settings saved',
  );
  const submit = (event: React.FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    save.mutate(new FormData(event.currentTarget));
  };
  return (
    <div className="max-w-3xl">
      <form onSubmit={submit}>
        <PageHead title="Settings" beside={<Id value={project.uid} what="project id" />}>
          {mayChange ? (
            <Button type="submit" look="main" busy={save.isPending && 'Saving'}>
              Save settings
            </Button>
          ) : (
            <p className="text-muted">Administrators of the project change them.</p>
          )}
        </PageHead>
        <fieldset disabled={!mayChange} className="min-w-0">
          <TextField label="Name" name="name" required defaultValue={project.name} />
          <RetryFields config={config} />
          <LimitFields config={config} />
          <BreakerFields breaker={config.circuit_breaker} />
          <EventFields config={config} />
          <VariableFields variables={project.variables} />
          <SafetyFields config={config} />
        </fieldset>
      </form>
      {/* Dialogs are forms too: within the form above, theirs would send it. */}
      <SigningKeys />
      <May use="deleteProject">
        <Section title="Delete">
          <Button look="danger" onClick={() => setDeleting(true)}>
            Delete project…
          </Button>
        </Section>
      </May>
      {deleting && <DeleteProject project={project} onClose={() => setDeleting(false)} />}
    </div>
  );
}

type Config = Project['config'];

function RetryFields({ config }: { config: Config }) {
  return (
    <Section title="Retries">
      <div className="grid gap-4 sm:grid-cols-3">
        <SelectField
          label="Backoff"
          name="strategy"
          defaultValue={config.strategy.type}
          choices={[
            ['linear', 'Linear: the same wait each time'],
            ['exponential', 'Doubles'],
          ]}
        />
        <TextField
          label="First wait (s)"
          name="wait"
          type="number"
          min="1"
          required
          defaultValue={config.strategy.duration}
        />
        <TextField
          label="Attempts"
          name="tries"
          type="number"
          min="1"
          required
          defaultValue={config.strategy.retry_count}
        />
      </div>
      <div className="mt-3 grid gap-3">
        <TextField
          label="Waits as a list"
          name="schedule"
          defaultValue={config.strategy.schedule.join(', ')}
          hint="Such as 5s, 5m, 2h. A list replaces the three fields above."
        />
        <TextField
          label="Final status codes"
          name="finalCodes"
          defaultValue={config.final_status_codes.join(', ')}
          hint="Answers after which a delivery is not retried. After 410 the endpoint becomes inactive too."
        />
        <Check
          label="Disable an endpoint that keeps failing"
          name="disable"
          defaultChecked={config.disable_endpoint}
        />
        <TextField
          label="Disable an endpoint without a success for"
          name="disableAfter"
          defaultValue={config.disable_after}
          hint="A duration such as 120h. Empty for never. An alert comes first."
        />
      </div>
    </Section>
  );
}

function LimitFields({ config }: { config: Config }) {
  return (
    <Section title="Limits">
      <div className="grid gap-4 sm:grid-cols-3">
        <TextField
          label="Events accepted"
          name="count"
          type="number"
          min="0"
          defaultValue={config.ratelimit.count}
          hint="0 for no limit."
        />
        <TextField
          label="Interval (s)"
          name="seconds"
          type="number"
          min="0"
          defaultValue={config.ratelimit.duration}
        />
        <TextField
          label="Largest payload (bytes)"
          name="payload"
          type="number"
          min="0"
          defaultValue={config.max_payload_read_size}
        />
        <TextField
          label="Timeout (s)"
          name="timeout"
          type="number"
          min="1"
          required
          defaultValue={config.http_timeout}
        />
      </div>
    </Section>
  );
}

const SCHEMES = [
  ['standard', 'Deliveries carry a Standard Webhooks signature'],
  ['convoy', 'Deliveries carry a Convoy signature'],
] as const;

function SafetyFields({ config }: { config: Config }) {
  return (
    <>
      <Section title="Retention">
        <TextField
          label="Retention of events"
          name="retention"
          defaultValue={config.retention_policy.policy}
          hint="A duration such as 720h. Defaults to the retention of the instance."
        />
      </Section>
      <Section title="Signing">
        <div className="grid gap-3">
          <TextField
            label="Convoy signature header"
            name="header"
            required
            defaultValue={config.signature.header}
          />
          {SCHEMES.map(([scheme, label]) => (
            <Check
              key={scheme}
              label={label}
              name="schemes"
              value={scheme}
              defaultChecked={config.signature.schemes.includes(scheme)}
            />
          ))}
          <Check
            label="Sign with a timestamp for every endpoint"
            name="replay"
            defaultChecked={config.replay_attacks_prevention_enabled}
          />
          <Check
            label="Endpoints must use https"
            name="https"
            defaultChecked={config.ssl.enforce_secure_endpoints}
          />
        </div>
      </Section>
      <Section title="People">
        <div className="grid gap-3">
          <Check
            label="People need a second factor"
            name="secondFactor"
            defaultChecked={config.require_second_factor}
          />
          <Check
            label="Viewers see no payloads"
            name="hidePayload"
            defaultChecked={config.hide_payload_from_viewers}
          />
        </div>
      </Section>
      <Section title="Meta events">
        <div className="grid gap-3">
          <Check label="Send meta events" name="meta" defaultChecked={config.meta_event.is_enabled} />
          <TextField label="URL" name="metaUrl" type="url" defaultValue={config.meta_event.url} />
          <TextField
            label="Secret"
            name="metaSecret"
            type="password"
            autoComplete="off"
            defaultValue={config.meta_event.secret}
            hint="Signs meta events. Empty: it stays, or is made."
          />
          <TextField
            label="Types"
            name="metaTypes"
            defaultValue={config.meta_event.event_type.join(', ')}
            hint="Separated by commas, such as endpoint.updated."
          />
        </div>
      </Section>
    </>
  );
}
