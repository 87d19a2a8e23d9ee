import { describe, test } from '@jest/globals';
import { SERVICES, unreachable, type ServiceVariable } from '../../../scripts/lib/services.mjs';

export interface Service {
  readonly name: string;
  readonly url: string;
  readonly problem: string | undefined;
}

export async function service(variable: ServiceVariable): Promise<Service> {
  const { name } = SERVICES[variable];
  return { name, url: process.env[variable] ?? '', problem: await unreachable(variable) };
}

/** A suite that needs a service. If the service does not answer, one test fails and says what to do. */
export function describeOn({ name, url, problem }: Service, suite: (url: string) => void): void {
  describe(`on ${name}`, () => {
    if (problem === undefined) return suite(url);
    test('the service can be reached', () => {
      throw new Error(problem);
    });
  });
}
