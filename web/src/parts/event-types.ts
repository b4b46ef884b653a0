import { useQuery } from '@tanstack/react-query';
import { formList } from '../ui/controls/form-text.ts';
import { useSite } from './site.ts';

/** The catalogue of event types. */
export function useEventTypes() {
  const { api, project } = useSite();
  return useQuery({
    queryKey: [project, 'event type choices'],
    // A subscription to all types puts `*` into the catalogue.
    queryFn: async () => (await api.eventTypes.list()).filter(({ name }) => name !== '*'),
    staleTime: 60_000,
  });
}

/** The event types of a form: those that are ticked, and those that are typed. Nothing: all of them. */
export function pickedTypes(form: FormData): string[] {
  const picked = [
    ...form.getAll('types').filter((one) => typeof one === 'string'),
    ...formList(form, 'typed'),
  ];
  return picked.length === 0 ? ['*'] : picked;
}
