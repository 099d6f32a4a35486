import { configured, load, type Program, YES } from './program.ts'

const ARCHIVE = "archive of finished journal files, besides the state directory's own"

export function addState({ root, io, does }: Program): void {
  const state = root.command('state').description("maintain the daemon's state directory")
  configured(state.command('verify'))
    .description('verify every record and state.json; works beside a daemon, and without a key')
    .option('--archive <dir>', ARCHIVE)
    .action(async (options) => does((await load.state()).stateVerify(options, io)))
  configured(state.command('rebuild'))
    .description('rebuild state.json from an intact journal; no daemon may be running')
    .option('--archive <dir>', ARCHIVE)
    .action(async (options) => does((await load.state()).stateRebuild(options, io)))
  configured(state.command('backup').argument('<target>', 'a new directory, or a file NAME.tar'))
    .description(
      'copy the state up to a record on disk, and verify the copy; works beside a daemon',
    )
    .action(async (target, options) => does((await load.state()).stateBackup(target, options, io)))
  configured(state.command('restore').argument('<backup>', 'made by `state backup`'))
    .description(
      'replace the state with a backup, and move the old state aside; no daemon may be running',
    )
    .option('--replace', 'replace even state that is sound or newer; prints the loss first')
    .action(async (backup, options) => does((await load.state()).stateRestore(backup, options, io)))
  configured(state.command('new'))
    .description('begin afresh: move the state aside and forget it; the daemon must not be running')
    .option(...YES)
    .action(async (options) => does((await load.stateOverrule()).stateNew(options, io)))
  configured(state.command('accept-loss'))
    .description(
      'continue with the state although its anchor shows that records are lost; the daemon must not be running',
    )
    .option(...YES)
    .action(async (options) => does((await load.stateOverrule()).stateAcceptLoss(options, io)))
}
