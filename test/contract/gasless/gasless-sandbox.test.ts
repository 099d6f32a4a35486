import { makeSandboxGaslessRig } from '../../support/gasless/sandbox-gasless-rig.ts'
import { sandboxForSuite } from '../../support/sandbox.ts'
import { gaslessContract } from './gasless.ts'

// Long enough that a quote is fresh to the suite, short enough that it expires within a test.
const sandbox = sandboxForSuite({ gasless: { quoteLifetime: 13 } })

gaslessContract('the live adapter over a service as deployed', () =>
  makeSandboxGaslessRig(sandbox()),
)
