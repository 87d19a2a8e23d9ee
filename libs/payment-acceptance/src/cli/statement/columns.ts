import { shownText } from '../../common/text.js';
import type { PaymentStatus } from '../../domain/payment.js';
import type { StatementFields } from '../../operations/statement-payment.js';
import { UsageError } from '../arguments.js';

type Column = keyof StatementFields;

/** Accepted column names: those of the specification (section 2.3), and ours. */
const NAMES: Readonly<Record<Column, readonly string[]>> = {
  payment_id: ['id', 'payment_id'],
  status: ['status'],
  amount: ['amount'],
  created_at: ['created_at'],
  bill_id: ['bill_id'],
  order_id: ['order_id'],
  currency: ['currency_in', 'currency'],
};
const COLUMNS = Object.keys(NAMES) as Column[];
const REQUIRED: readonly Column[] = ['payment_id', 'status', 'amount', 'created_at'];
const STATUSES: readonly string[] = ['NEW', 'PROCESS', 'SUCCESS', 'FAIL'] satisfies PaymentStatus[];

/** A statement's columns and statuses, as given with `--column` and `--status`. */
export class StatementColumns {
  /** The statement's own names of the statuses, in addition to those of the specification. */
  readonly statuses = new Map<string, PaymentStatus>();
  /** The status of every row, if the statement has no such column. */
  private readonly onlyStatus: PaymentStatus | undefined;
  private readonly given = new Map<string, string>();

  /**
   * @param columns each as `amount=Sum`
   * @param statuses each as `Paid=SUCCESS`, or `SUCCESS` for every row
   * @throws UsageError
   */
  constructor(columns: readonly string[], statuses: readonly string[]) {
    for (const each of columns) {
      const [name, header] = pairOf('--column', each);
      if (!COLUMNS.includes(name as Column)) {
        throw new UsageError(`--column: there is no ${shownText(name)}, only ${COLUMNS.join(', ')}.`);
      }
      this.given.set(name, header);
    }
    let only: PaymentStatus | undefined;
    for (const each of statuses) {
      const split = each.lastIndexOf('=');
      const status = statusOf(each.slice(split + 1));
      if (split < 0) only = status;
      else this.statuses.set(each.slice(0, split), status);
    }
    this.onlyStatus = only;
  }

  /** @throws UsageError if a column is missing or appears twice */
  checkHeader(names: readonly string[]): void {
    for (const column of COLUMNS) {
      const wanted = this.namesOf(column);
      const found = names.filter((name) => name === wanted.find((each) => names.includes(each)));
      if (found.length > 1) throw new UsageError(`The statement has the column "${shownText(found[0] ?? '')}" twice.`);
      if (found.length === 0 && this.isRequired(column)) throw new UsageError(this.missing(column, names));
    }
  }

  /** The fields of a record, or what is wrong with it. */
  read(record: Readonly<Record<string, unknown>>): StatementFields | string {
    const fields: Partial<Record<Column, string>> = {};
    for (const column of COLUMNS) {
      const name = this.namesOf(column).find((each) => Object.hasOwn(record, each));
      const value = name === undefined ? undefined : record[name];
      if (typeof value === 'string') fields[column] = value;
      else if (value !== undefined && value !== null) return `${column} is neither text nor a number.`;
      else if (this.isRequired(column)) return this.missing(column, Object.keys(record));
    }
    return { ...(this.onlyStatus && { status: this.onlyStatus }), ...fields } as StatementFields;
  }

  private isRequired(column: Column): boolean {
    return this.given.has(column) || (REQUIRED.includes(column) && !(column === 'status' && this.onlyStatus));
  }

  private namesOf(column: Column): readonly string[] {
    const own = this.given.get(column);
    return own === undefined ? NAMES[column] : [own];
  }

  private missing(column: Column, names: readonly string[]): string {
    const looked = this.namesOf(column).map((name) => `"${shownText(name)}"`);
    const more = column === 'status' ? ', or give every row the same with --status SUCCESS' : '';
    return (
      `There is no column ${looked.join(' or ')}, but ${names.map((name) => `"${shownText(name)}"`).join(', ')}. ` +
      `Say which it is with --column ${column}=NAME${more}.`
    );
  }
}

function pairOf(option: string, text: string): [string, string] {
  const split = text.indexOf('=');
  if (split < 1) throw new UsageError(`${option}: must be as in amount=Sum, not "${shownText(text)}".`);
  return [text.slice(0, split), text.slice(split + 1)];
}

function statusOf(text: string): PaymentStatus {
  if (STATUSES.includes(text)) return text as PaymentStatus;
  throw new UsageError(`--status: must end with one of ${STATUSES.join(', ')}, not "${shownText(text)}".`);
}
