import { parseAbi } from 'viem'

/** The ABI entries that the sandbox uses, with literal types for viem. A test compares them with the artifacts. */
export const gasTankBalancesAbi = parseAbi([
  'function deposit(address operator) payable',
  'event AccountDeposited(address operator, uint256 newBalance)',
  'error NotBuilder()',
  'error FailedLowLevelCall()',
])

export const gasTankBalanceOfAbi = parseAbi([
  'struct Charge { address account; uint256 amount; }',
  'function depositFor(address account) payable',
  'function charge(Charge[] charges)',
  'event Deposited(address indexed account, address indexed from, uint256 amount)',
])

export const multicallAbi = parseAbi([
  'struct Call { address account; address target; bytes data; uint256 value; uint256 gasLimit; }',
  'function execute(Call[] calls)',
  'error OnlyOperator()',
  'error NotDelegated(uint256 index, address account)',
  'error CallFailed(uint256 index, address account, bytes reason)',
  'error GasLimitExceeded()',
])

export const trustedProposerAbi = parseAbi([
  'function onCall(address _target, bytes _data, uint256 _value) returns (bool)',
  'error OnlyMulticallOrSelf(address caller)',
])

export const trustlessProposerAbi = parseAbi([
  'function onCall(address _target, bytes _data, uint256 _value) returns (bool)',
  'function nestedNonce() view returns (uint256)',
  'error OnlyMulticallOrSelf(address caller)',
  'error DeadlinePassed(uint256 deadline)',
  'error WrongNonce(uint256 nonce, uint256 expected)',
  'error WrongSigner(address signer)',
  'error NotEnoughGas(uint256 available, uint256 gasLimit)',
  'error GasLimitExceeded()',
])

export const demoTargetAbi = parseAbi([
  'function record(bytes32 memo) payable',
  'function fail() view',
  'error Refused(address caller)',
])
