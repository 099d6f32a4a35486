import { configured, type Program, YES } from './program.ts'

/** Commands for keys and for what accounts have at the services and on chain. */
export function addAccounts(program: Program): void {
  addWallet(program)
  addGasTank(program)
  addDelegation(program)
  addApprovals(program)
}

function addWallet({ root, does, io: { stdout, stderr, env } }: Program): void {
  const own = { stdin: process.stdin, stdout, stderr, env }
  const wallet = root.command('wallet').description('make, import or show a wallet')
  const loaded = () =>
    Promise.all([
      import('../commands/account/wallet.ts'),
      import('../commands/account/wallet-io.ts'),
    ])
  wallet
    .command('new')
    .description('make a key and write it as an encrypted v3 keystore')
    .requiredOption('--out <file>', 'keystore to write; an existing file is never replaced')
    .option('--password-file <file>', 'take the password from here instead of asking')
    .option('--json', 'print data')
    .action((options) => {
      return does(
        loaded().then(([commands, at]) => commands.walletNew(options, at.createWalletIo(own))),
      )
    })
  wallet
    .command('import')
    .description(
      'write a key that you have as an encrypted v3 keystore; it is asked for or read from stdin',
    )
    .requiredOption('--out <file>', 'keystore to write; an existing file is never replaced')
    .option('--private-key-file <file>', 'take the key from here')
    .option('--password-file <file>', 'take the password from here instead of asking')
    .option('--json', 'print data')
    .action((options) => {
      return does(
        loaded().then(([commands, at]) => commands.walletImport(options, at.createWalletIo(own))),
      )
    })
  wallet
    .command('address')
    .description('show the address of a keystore or key file')
    .option('--keystore <file>', 'encrypted keystore')
    .option('--private-key-file <file>', 'file that holds a key')
    .option('--password-file <file>', 'take the password from here instead of asking')
    .option('--json', 'print data')
    .action((options) => {
      return does(
        loaded().then(([commands, at]) => commands.walletAddress(options, at.createWalletIo(own))),
      )
    })
}

function addGasTank({ root, io, does }: Program): void {
  const gastank = root
    .command('gastank')
    .description('the deposit that pays for aggregated transactions')
  configured(gastank.command('status'))
    .description('show what the service and the chain hold for the account, and how long it lasts')
    .action((options) => {
      return does(
        import('../commands/account/gastank.ts').then(({ gastankStatus }) =>
          gastankStatus(options, io),
        ),
      )
    })
  configured(gastank.command('deposit').argument('<amount>', 'ether, such as 0.05'))
    .description(
      "deposit ether of the aggregator's wallet and wait until the service has indexed it; the daemon must not be running",
    )
    .option('--yes', 'really send it: a deposit cannot be taken out again')
    .action((amount, options) => {
      return does(
        import('../commands/account/gastank.ts').then(({ gastankDeposit }) =>
          gastankDeposit(amount, options, io),
        ),
      )
    })
}

const DIRECT =
  'by an ordinary transaction of the account, at its own expense, not through the service'

function addDelegation({ root, io, does }: Program): void {
  const delegation = root
    .command('delegation')
    .description("the code behind the aggregator's account (EIP-7702)")
  const loaded = () => import('../commands/account/delegation.ts')
  configured(delegation.command('status'))
    .description('show the code, whose it is and what it answers')
    .action((options) => {
      return does(loaded().then(({ delegationStatus }) => delegationStatus(options, io)))
    })
  configured(delegation.command('set'))
    .description(
      "delegate the account to the config's proposer through the service; the daemon must not be running",
    )
    .option('--trusted', 'needed with `proposer: trusted`, under which the service can do anything')
    .option('--direct', DIRECT)
    .action((options) => {
      return does(loaded().then(({ delegationSet }) => delegationSet(options, io)))
    })
  configured(delegation.command('clear'))
    .description('take the code away again; the daemon must not be running')
    .option('--direct', DIRECT)
    .action((options) => {
      return does(loaded().then(({ delegationClear }) => delegationClear(options, io)))
    })
}

function addApprovals({ root, io, does }: Program): void {
  const approvals = root
    .command('approvals')
    .description('what Permit2 may spend of the wallet that trades')
  configured(approvals.command('list'))
    .description('show what is approved of each token of the config, and what the config wants')
    .action((options) => {
      return does(
        import('../commands/account/approvals.ts').then(({ approvalsList }) =>
          approvalsList(options, io, Date.now()),
        ),
      )
    })
  configured(approvals.command('revoke').argument('[token...]', 'as the config names them'))
    .description(
      'let Permit2 spend nothing of these tokens until an order has it approved again; also under a halt; the daemon must not be running',
    )
    .option('--all', 'every token of the config')
    .option(...YES)
    .action((tokens, options) => {
      return does(
        import('../commands/account/approvals-revoke.ts').then(({ approvalsRevoke }) =>
          approvalsRevoke(tokens, options, io),
        ),
      )
    })
}
