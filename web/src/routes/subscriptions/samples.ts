import { useQuery } from '@tanstack/react-query';
import { useProject } from '../../data/project.ts';
import type { Sample } from './filter-keys.ts';

const SAMPLES = 50;

/** The latest events, for what the editors suggest. */
export function useSamples(): readonly Sample[] {
  const { api, id } = useProject();
  const { data } = useQuery({
    queryKey: [id, 'samples'],
    queryFn: () => api.events.list({ perPage: SAMPLES }).page(),
    staleTime: 60_000,
  });
  return data?.content.map(({ data: body, headers }) => ({ body, headers })) ?? [];
}

/** The latest event that went to an endpoint, or else the latest of all. */
export function useSample(endpoint: string): Sample | undefined {
  const { api, id } = useProject();
  const [latest] = useSamples();
  const { data } = useQuery({
    queryKey: [id, 'sample', endpoint],
    queryFn: () => api.events.list({ endpointId: [endpoint], perPage: 1 }).page(),
    staleTime: 60_000,
    enabled: endpoint !== '',
  });
  const [event] = data?.content ?? [];
  return event === undefined ? latest : { body: event.data, headers: event.headers };
}
