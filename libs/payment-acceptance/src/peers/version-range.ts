type Version = readonly [major: number, minor: number, patch: number];

/**
 * Whether a version lies in a range of npm: alternatives with `||`, each of comparators such as `^1.2.0`, `~1.2.0`, `>=1.2`,
 * `1.x` and `1.2.3`. A prerelease counts as its release. What cannot be read is taken as fitting: this is for finding what
 * surely does not fit.
 */
export function satisfies(version: string, range: string): boolean {
  const has = versionOf(version);
  if (!has) return true;
  return range.split('||').some((alternative) => comparatorsOf(alternative).every((each) => fits(has, each)));
}

/** The range as a package manager's command takes it in every shell, without `^`, which cmd.exe would swallow: `^0.3.20` as `0.3`. */
export function commandRange(range: string): string {
  const [major, minor] = versionOf(range.replace(/^[\^~]/, '')) ?? [];
  if (major === undefined) return range;
  return major > 0 ? `${major}` : `0.${minor}`;
}

/** The alternatives of a range, in their order. */
export function alternativesOf(range: string): string[] {
  return range.split('||').map((alternative) => alternative.trim());
}

/** Reads `1.2.3`, `v1.2.3-rc.1`, `1.2` and `1`. */
export function versionOf(text: string): Version | undefined {
  const [, major, minor = '0', patch = '0'] = /^\s*v?(\d+)(?:\.(\d+))?(?:\.(\d+))?/.exec(text) ?? [];
  return major === undefined ? undefined : [Number(major), Number(minor), Number(patch)];
}

function comparatorsOf(alternative: string): string[] {
  const joined = alternative.trim().replace(/(>=|<=|>|<|\^|~|=)\s+/g, '$1');
  const hyphen = /^(\S+)\s+-\s+(\S+)$/.exec(joined);
  return hyphen ? [`>=${hyphen[1]}`, `<=${hyphen[2]}`] : joined.split(/\s+/);
}

function fits(has: Version, comparator: string): boolean {
  const [, operator = '', text = ''] = /^(>=|<=|>|<|\^|~|=)?(.*)$/.exec(comparator) ?? [];
  const asked = versionOf(text);
  if (!asked) return true;
  const given = (/^v?\d+(?:\.\d+){0,2}/.exec(text)?.[0] ?? '').split('.').length;
  const order = compare(has, asked);
  switch (operator) {
    case '>=':
      return order >= 0;
    case '<=':
      return order <= 0 || startsAlike(has, asked, given);
    case '>':
      return order > 0 && !startsAlike(has, asked, given);
    case '<':
      return order < 0;
    case '^':
      return order >= 0 && startsAlike(has, asked, Math.min(given, significantOf(asked)));
    case '~':
      return order >= 0 && startsAlike(has, asked, Math.min(given, 2));
    default:
      return startsAlike(has, asked, given);
  }
}

/** How many numbers a caret holds fast: up to the first that is not 0. */
function significantOf([major, minor]: Version): number {
  if (major > 0) return 1;
  return minor > 0 ? 2 : 3;
}

function startsAlike(one: Version, other: Version, count: number): boolean {
  return one.slice(0, count).every((part, index) => part === other[index]);
}

function compare(one: Version, other: Version): number {
  return one[0] - other[0] || one[1] - other[1] || one[2] - other[2];
}
