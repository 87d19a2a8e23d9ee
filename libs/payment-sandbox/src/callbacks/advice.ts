import { firstCharacters } from '../common/ids.js';
import type { CallbackTry, Shop } from '../model/entities.js';
import { signatureOf } from './messages.js';
import type { PostAnswer } from './post.js';

export type Advice = Required<Pick<CallbackTry, 'advice'>> & Pick<CallbackTry, 'remedy'>;

export interface PostAttempt {
  shop: Shop;
  url: string;
  format: Shop['postbackFormat'];
  fields: Record<string, string>;
  answer: PostAnswer;
}

/** What the probes found out; empty if none were sent. */
export interface Findings {
  /** A similar address that does answer, and the status of the answer. */
  similarAddress?: { url: string; status: number } | undefined;
  /** What the probes proved that the shop wants instead; absent if they proved nothing. */
  requirement?: { format?: Shop['postbackFormat']; digest?: 'lower-case'; status: number | null } | undefined;
  /** Whether the probes proved that the shop tells a right digest from a wrong one, in the format of the attempt. */
  understands?: boolean | undefined;
  /** The shop's answer to every probe, in either format and with any signature; absent if the answers differ. */
  commonAnswer?: { status: number; isPage: boolean } | undefined;
  /** The shop's answer to a probe in the other format, if it fails on probes in this one. Proves nothing by itself. */
  otherwise?: { format: Shop['postbackFormat']; answer: string } | undefined;
}

/** Returns `undefined` if there is nothing to say. */
export function adviceFor(attempt: PostAttempt, findings: Findings = {}): Advice | undefined {
  const { answer } = attempt;
  if (answer.status === null) {
    const advice = unreachableAdvice(attempt.url, answer.code, answer.error) + otherFormatNote(findings);
    return requirementAdvice(attempt, findings) ?? { advice };
  }
  if (answer.status === 200) return deliveredAdvice(attempt, answer.body, findings);
  if (answer.status >= 400 && answer.status < 500 && isForged(attempt)) {
    return { advice: 'the SignatureValue does not match the fields: the shop is right to refuse the postback' };
  }
  if (answer.status < 300) {
    return { advice: 'only 200 counts as delivered, so it will be retried (in NestJS: @HttpCode(200))' };
  }
  if (answer.status < 400) return { advice: redirectAdvice(attempt.url, answer.location) };
  return requirementAdvice(attempt, findings) ?? refusalAdvice(attempt, answer.status, findings);
}

function otherFormatNote({ otherwise }: Findings): string {
  if (!otherwise) return '';
  return `; the same sent as ${otherwise.format === 'form' ? 'a form' : 'JSON'} gets ${otherwise.answer}`;
}

function refusalAdvice(attempt: PostAttempt, status: number, findings: Findings): Advice {
  const { url, format, answer } = attempt;
  const { similarAddress, understands, commonAnswer } = findings;
  if (status >= 500) {
    return { advice: `the shop failed while handling the postback: see its log${otherFormatNote(findings)}` };
  }
  if (status === 404 || status === 405) return { advice: missingRouteAdvice(url, status, similarAddress) };
  if (status === 419 || /csrf/i.test(answer.body)) {
    return { advice: 'the shop requires a CSRF token: exempt this route from that check' };
  }
  if (mentionsDigest(answer.body)) return { advice: digestAdvice(attempt) };
  if (status === 415) return otherFormatAdvice(otherFormat(format), null);
  const page = isPage(answer.body);
  const says = quoteBody(answer.body);
  if (understands && attempt.fields['SignatureValue'] === undefined) return { advice: digestAdvice(attempt) };
  if (understands) {
    const shown = `the shop reads ${format === 'json' ? 'JSON' : 'forms'} and tells a correct signature from a wrong one`;
    return { advice: `${shown}: it refused the contents of this postback${says && `, with ${says}`}` };
  }
  if (status === 401) return { advice: GUARD_ADVICE };
  if (status === 403 && !says)
    return { advice: `${GUARD_ADVICE}; or the shop considers the signature wrong: ${digestAdvice(attempt)}` };
  const how = says ? `, and says ${says}` : page ? ' with a page' : ' without a message';
  const asOthers =
    commonAnswer?.status === status ? ', as it does all postbacks, in either format and with any signature' : '';
  return { advice: `the shop refused it${how}${asOthers}: check its log` };
}

const GUARD_ADVICE = 'a guard in front of the route, such as a login, must let the service through';

/** Empty if the answer is empty or a page. */
function quoteBody(body: string): string {
  const text = body.replace(/\s+/g, ' ').trim();
  return text === '' || isPage(text) ? '' : `"${text.slice(0, 60)}"`;
}

function requirementAdvice(attempt: PostAttempt, { requirement }: Findings): Advice | undefined {
  const lowerCaseAdvice = `${digestAdvice(attempt)}: the shop accepts it only in lower case, so make the comparison case-insensitive`;
  if (requirement?.format === undefined) return requirement?.digest && { advice: lowerCaseAdvice };
  const { advice, remedy } = otherFormatAdvice(requirement.format, requirement.status);
  return { advice: requirement.digest ? `${advice}; ${lowerCaseAdvice}` : advice, remedy };
}

function missingRouteAdvice(url: string, status: number, similarAddress: Findings['similarAddress']): string {
  if (similarAddress) {
    const because =
      similarAddress.url.length > url.length ? 'the address lacks a global prefix' : 'the address has an extra prefix';
    return `there is nothing at ${url}, but ${similarAddress.url} answers (${similarAddress.status}): ${because}`;
  }
  if (status === 405) return `the route at ${url} does not accept POST: make it do so, or correct the address`;
  const { origin, pathname } = new URL(url);
  return `the shop has no route for a POST to ${url}: check the path, and look for a global prefix (${origin}/api${pathname})`;
}

/** @param status the status of the answer to a probe in the wanted format; null if none was sent */
function otherFormatAdvice(wanted: Shop['postbackFormat'], status: number | null): Required<Advice> {
  const [unread, read] = wanted === 'form' ? ['JSON', 'a form'] : ['forms', 'JSON'];
  const shown =
    status === null
      ? `the shop probably does not read ${unread}`
      : `the shop does not read ${unread}, but understood a test postback sent as ${read}, for an order that does not exist (${status})`;
  const remedy =
    'make the handler read both, as the specification does not say which the service sends; ' +
    `or set Postback format (postbackFormat) to ${wanted}`;
  return { advice: `${shown}: ${remedy}`, remedy: wanted };
}

export const otherFormat = (format: PostAttempt['format']): PostAttempt['format'] =>
  format === 'json' ? 'form' : 'json';

/** Recognises a page by its content, because the Content-Type may mislead: the text "OK" is often sent as HTML. */
const HTML_PATTERN = /<(?:!doctype|html|head|body|form)\b/i;
/** Words by which shops say that they did not take a postback; "error: 0" and "0 errors" do not count. */
const FAILURE_PATTERN =
  /"(?:success|ok)"\s*:\s*false|\b(?<!\b(?:no|0) )(?:errors?|fail(?:ed|ures?)?|invalid|wrong|bad|denied|missing|not found)\b(?!"?\s*[:=]\s*(?:(?:"?(?:0|null|false|none)"?|"")(?![\w ])|\[\]))/i;

export function isPage(body: string): boolean {
  return HTML_PATTERN.test(body);
}

/** Whether the body of a 200 suggests that the shop did not take the postback. */
export function deniesDelivery(body: string): boolean {
  return isPage(body) || FAILURE_PATTERN.test(body);
}

/** A 200 ends the deliveries even if its body says that the shop failed to take the payment. */
function deliveredAdvice(attempt: PostAttempt, body: string, findings: Findings): Advice | undefined {
  const text = body.trim();
  if (isForged(attempt)) return undefined;
  if (!deniesDelivery(text)) return requirementAdvice(attempt, findings);
  const page = isPage(text);
  const says = page ? 'a page' : quoteBody(text);
  const lostPaymentAdvice = `200 counts as delivered, but the answer is ${says}, not an acknowledgement such as OK: check whether the shop has recorded the payment`;
  const requirement = requirementAdvice(attempt, findings);
  if (requirement) return { ...requirement, advice: `${lostPaymentAdvice}; ${requirement.advice}` };
  if (page && findings.commonAnswer?.isPage && findings.commonAnswer.status === 200) {
    return {
      advice: `${lostPaymentAdvice}; every postback gets this answer: compare ${attempt.url} with the shop’s route`,
    };
  }
  return {
    advice: !page && mentionsDigest(text) ? `${lostPaymentAdvice}; ${digestAdvice(attempt)}` : lostPaymentAdvice,
  };
}

function redirectAdvice(url: string, location: string | null): string {
  const target = location !== null && URL.canParse(location, url) ? new URL(location, url) : undefined;
  const base = 'redirects are not followed';
  if (!target) return `${base}: the shop must answer 200 itself`;
  if (/login|sign-?in|auth/i.test(target.pathname)) {
    return `${base}, and this one leads to a login (${target.href}): let the service reach this route without one`;
  }
  return `${base}: if ${target.href} accepts postbacks, set the Result URL to it; otherwise the shop must answer 200 itself`;
}

function unreachableAdvice(url: string, code: string | null, error: string): string {
  const { host, hostname } = new URL(url);
  switch (code) {
    case 'ECONNREFUSED':
      return `nothing is listening at ${host}: is the shop running, and is this its port? In a container, ${hostname} is the container itself`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the name ${hostname} cannot be resolved: correct the Result URL`;
    case 'TIMEOUT':
      return `the shop at ${host} accepted the postback but did not answer in time: answer first, do slow work afterwards`;
    case 'ECONNRESET':
    case 'EPIPE':
      return `the shop at ${host} closed the connection without an answer: check its log`;
    case null:
    default:
      return /certificate|ssl|tls|EPROTO/i.test(`${code} ${error}`)
        ? `the https connection to ${host} failed: check its certificate, and whether it serves https at all`
        : `the shop at ${host} could not be reached: check the address and the network`;
  }
}

/** Words that shops use for the digest; "sign in" does not count. */
const DIGEST_PATTERN =
  /(?<![a-z])(?:sign(?![ -](?:in|up|out))|digest|hash|md5|crc|checksum)(?![a-z])|signature|подпис|контрольн/i;
/**
 * What validators say about SignatureValue if the DTO or the postback lacks it, and its name as a JSON key. They do not
 * count as complaints about the digest.
 */
const VALIDATION_MESSAGE_PATTERN =
  /"signaturevalue"\s*:|signaturevalue\W+(?:should not exist|(?:must|should) be a string|should not be empty|(?:field )?is (?:required|missing)|may not be blank|can't be blank)/gi;

export function mentionsDigest(body: string): boolean {
  return DIGEST_PATTERN.test(body.replace(VALIDATION_MESSAGE_PATTERN, ''));
}

/** Whether the postback's signature is not the one the service would have sent, so that the shop must refuse it. */
export function isForged({ fields, shop }: Pick<PostAttempt, 'fields' | 'shop'>): boolean {
  const { SignatureValue: sent, OutSum = '', InvId = '' } = fields;
  return sent !== undefined && sent !== signatureOf(OutSum, InvId, shop.apiToken);
}

function digestAdvice({ fields, shop }: PostAttempt): string {
  const { SignatureValue: sent, OutSum = '', InvId = '' } = fields;
  if (sent === undefined) return 'it carried no SignatureValue, due to the setting postbackSignature';
  const text = `"${OutSum}:${InvId}:" and the API token (${firstCharacters(shop.apiToken)})`;
  return `SignatureValue is the MD5 of ${text} in upper-case hexadecimal, computed over the values exactly as sent`;
}
