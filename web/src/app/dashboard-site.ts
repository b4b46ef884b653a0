import { useParams } from '@tanstack/react-router';
import { useMemo } from 'react';
import { tellDelivery } from '../data/delivery-state.ts';
import { explainError } from '../data/explain-error.ts';
import { pageOf } from '../data/project.ts';
import { apiOf } from '../data/session.ts';
import type { Site } from '../parts/site.ts';

/** The project of the address, for the parts that the dashboard shares with the portal. */
export function useDashboardSite(): Site {
  const { project } = useParams({ strict: false }) as { project?: string };
  return useMemo(() => {
    const api = apiOf(project);
    return {
      api,
      project: project ?? '',
      at: (page) => pageOf(project ?? '', page),
      heading: 'h1',
      explain: explainError,
      test: (endpoint_id) => api.endpoints.try({ endpoint_id }),
      why: ({ description }) => description,
      tell: tellDelivery,
    };
  }, [project]);
}
