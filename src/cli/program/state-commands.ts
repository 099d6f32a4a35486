import { configured, load, type Program, YES } from './program.ts'

const ARCHIVE =
  "where finished files of the journal were moved to, besides the state directory's own"

export function addState({ root, io, does }: Program): void {
  const state = root.command('state').description("look after the daemon's state directory")
  configured(state.command('verify'))
    .description('prove every record and state.json; also beside a daemon, and without a key')
    .option('--archive <dir>', ARCHIVE)
    .action(async (options) => does((await load.state()).stateVerify(options, io)))
  configured(state.command('rebuild'))
    .description('make state.json anew from a journal that proves whole; no daemon may be running')
    .option('--archive <dir>', ARCHIVE)
    .action(async (options) => does((await load.state()).stateRebuild(options, io)))
  configured(state.command('backup').argument('<target>', 'a new directory, or a file NAME.tar'))
    .description(
      'copy the state up to a record that is on disk, and prove the copy; also beside a daemon',
    )
    .action(async (target, options) => does((await load.state()).stateBackup(target, options, io)))
  configured(state.command('restore').argument('<backup>', 'what `state backup` has made'))
    .description(
      'put a backup in place of what is there, which is moved aside; no daemon may be running',
    )
    .option(
      '--replace',
      'also in place of state that is sound or newer: it says first what is lost',
    )
    .action(async (backup, options) => does((await load.state()).stateRestore(backup, options, io)))
  configured(state.command('new'))
    .description(
      'begin afresh: what is there is kept aside and forgotten; the daemon must not be running',
    )
    .option(...YES)
    .action(async (options) => does((await load.stateOverrule()).stateNew(options, io)))
  configured(state.command('accept-loss'))
    .description(
      'go on with the state as it is although its anchor says that there was more; the daemon must not be running',
    )
    .option(...YES)
    .action(async (options) => does((await load.stateOverrule()).stateAcceptLoss(options, io)))
}
