import { configured, load, type Program, YES } from './program.ts'

export function addAccounts(program: Program): void {
  addWallet(program)
  addGasTank(program)
  addDelegation(program)
  addApprovals(program)
}

function addWallet({ root, does, io }: Program): void {
  const wallet = root.command('wallet').description('create, import or show a wallet')
  const walletIo = async () => (await load.wallet()).createWalletIo(process.stdin, io)
  wallet
    .command('new')
    .description('create a key and write it as an encrypted v3 keystore')
    .requiredOption('--out <file>', 'keystore to write; an existing file is never replaced')
    .option('--password-file <file>', 'read the password from here instead of asking')
    .option('--json', 'print data')
    .action(async (options) => does((await load.wallet()).walletNew(options, await walletIo())))
  wallet
    .command('import')
    .description(
      'write your own key as an encrypted v3 keystore; prompts for it or reads it from stdin',
    )
    .requiredOption('--out <file>', 'keystore to write; an existing file is never replaced')
    .option('--private-key-file <file>', 'read the key from here')
    .option('--password-file <file>', 'read the password from here instead of asking')
    .option('--json', 'print data')
    .action(async (options) => does((await load.wallet()).walletImport(options, await walletIo())))
  wallet
    .command('address')
    .description('show the address of a keystore or key file')
    .option('--keystore <file>', 'encrypted keystore')
    .option('--private-key-file <file>', 'file that holds a key')
    .option('--password-file <file>', 'read the password from here instead of asking')
    .option('--json', 'print data')
    .action(async (options) => does((await load.wallet()).walletAddress(options, await walletIo())))
}

function addGasTank({ root, io, does }: Program): void {
  const about = 'the deposit that pays for aggregated transactions'
  const gastank = root.command('gastank').description(about)
  configured(gastank.command('status'))
    .description('show what the service and the chain hold for the account, and how long it lasts')
    .action(async (options) => does((await load.gastank()).gastankStatus(options, io)))
  configured(gastank.command('deposit').argument('<amount>', 'ether, such as 0.05'))
    .description(
      "deposit ether from the aggregator's wallet and wait until the service has indexed it; the daemon must not be running",
    )
    .option('--yes', 'really send it: a deposit cannot be withdrawn')
    .action(async (amount, options) =>
      does((await load.gastank()).gastankDeposit(amount, options, io)),
    )
}

const DIRECT =
  'send an ordinary transaction from the account, at its own expense, instead of using the service'

function addDelegation({ root, io, does }: Program): void {
  const about = "the code behind the aggregator's account (EIP-7702)"
  const delegation = root.command('delegation').description(about)
  configured(delegation.command('status'))
    .description('show the code, its proposer and what it answers')
    .action(async (options) => does((await load.delegation()).delegationStatus(options, io)))
  configured(delegation.command('set'))
    .description(
      "delegate the account to the config's proposer through the service; the daemon must not be running",
    )
    .option('--trusted', 'required with `proposer: trusted`, which lets the service do anything')
    .option('--direct', DIRECT)
    .action(async (options) => does((await load.delegation()).delegationSet(options, io)))
  configured(delegation.command('clear'))
    .description('remove the code; the daemon must not be running')
    .option('--direct', DIRECT)
    .action(async (options) => does((await load.delegation()).delegationClear(options, io)))
}

function addApprovals({ root, io, does }: Program): void {
  const about = 'what Permit2 may spend from the trading wallet'
  const approvals = root.command('approvals').description(about)
  configured(approvals.command('list'))
    .description(
      'show the allowance of each token in the config, and the one that the config wants',
    )
    .action(async (options) =>
      does((await load.approvals()).approvalsList(options, io, Date.now())),
    )
  configured(approvals.command('revoke').argument('[token...]', 'symbols from the config'))
    .description(
      "revoke Permit2's allowance of these tokens until an order needs it again; works while halted; the daemon must not be running",
    )
    .option('--all', 'every token of the config')
    .option(...YES)
    .action(async (tokens, options) =>
      does((await load.approvalsRevoke()).approvalsRevoke(tokens, options, io)),
    )
}
