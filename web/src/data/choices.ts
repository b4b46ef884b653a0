import { useQuery } from '@tanstack/react-query';
import type { Page, Posthorn } from 'posthorn-client';
import { useProject } from './project.ts';

const MOST = 100;

/** The first 100 of a resource, to choose from and to name. */
function useFirst<T>(noun: string, list: (api: Posthorn) => { page(): Promise<Page<T>> }) {
  const { api, id } = useProject();
  const { data } = useQuery({
    queryKey: [id, `${noun} choices`],
    queryFn: () => list(api).page(),
    staleTime: 30_000,
  });
  return { content: data?.content ?? [], isAll: data?.pagination.has_next_page !== true };
}

export function useEndpointChoices() {
  const { content, isAll } = useFirst('endpoint', ({ endpoints }) => endpoints.list({ perPage: MOST }));
  return { endpoints: content, isAll };
}

export function useSourceChoices() {
  const { content, isAll } = useFirst('source', ({ sources }) => sources.list({ perPage: MOST }));
  return { sources: content, isAll };
}

/** The project with its config. */
export function useSettings() {
  const { api, id } = useProject();
  return useQuery({ queryKey: [id, 'settings'], queryFn: () => api.projects.get(id) });
}

/** The clouds whose credentials of the machine the operator allows. */
export function useClouds(): readonly string[] | undefined {
  return useSettings().data?.workload_credentials;
}
