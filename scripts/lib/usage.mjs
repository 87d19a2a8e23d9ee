/**
 * The arguments of a command. Answers `--help`, and refuses what the command does not take: `takes` says what that is,
 * of one argument. `usage`: its lines, from the name on.
 * @param {string} usage
 * @param {(argument: string) => boolean} [takes]
 */
export function argumentsOf(usage, takes = () => false) {
  const args = process.argv.slice(2);
  if (args.some((each) => each === '--help' || each === '-h')) {
    console.log(`Usage: ${usage}`);
    process.exit(0);
  }
  const unknown = args.find((each) => !takes(each));
  if (unknown !== undefined) {
    console.error(`"${unknown}" is nothing that this command takes.\nUsage: ${usage}`);
    process.exit(1);
  }
  return args;
}

/** @param {string} argument */
export const isCheck = (argument) => argument === '--check';
/** @param {string} argument */
export const isWord = (argument) => !argument.startsWith('-');
