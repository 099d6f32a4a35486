import { parseAbi } from 'viem'

/** The aggregation contracts as an outside client knows them, errors included. */
export const GAS_TANK_BALANCES = parseAbi([
  'function deposit() payable',
  'function deposit(address operator) payable',
  'function balances(address operator) view returns (uint256)',
  'function builder() view returns (address)',
  'function owner() view returns (address)',
  'function version() view returns (string)',
  'function withdraw(uint256 amount)',
  'event AccountDeposited(address operator, uint256 newBalance)',
  'event Withdrawn(uint256 amount)',
  'error NotBuilder()',
  'error FailedLowLevelCall()',
])
/** The other generation, which deducts charges from the deposit. */
export const GAS_TANK = parseAbi([
  'function deposit() payable',
  'function depositFor(address account) payable',
  'function balanceOf(address account) view returns (uint256)',
  'function charge((address account, uint256 amount)[] charges)',
  'function operator() view returns (address)',
  'event Deposited(address indexed account, address indexed from, uint256 amount)',
  'event Charged(address indexed account, uint256 amount)',
  'error OnlyOperator()',
  'error ChargeAboveBalance(address account, uint256 amount, uint256 balance)',
])
export const MULTICALL = parseAbi([
  'struct Call { address account; address target; bytes data; uint256 value; uint256 gasLimit; }',
  'function execute(Call[] calls)',
  'event InternalGasUsed(uint256[] gasUsed)',
  'error OnlyOperator()',
  'error NotDelegated(uint256 index, address account)',
  'error CallFailed(uint256 index, address account, bytes reason)',
  'error GasLimitExceeded()',
])
export const PROPOSER = parseAbi([
  'function onCall(address _target, bytes _data, uint256 _value) returns (bool)',
  'function nestedNonce() view returns (uint256)',
  'function eip712Domain() view returns (bytes1 fields, string name, string version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] extensions)',
  'function STORAGE_SLOT() view returns (bytes32)',
  'error OnlyMulticallOrSelf(address caller)',
  'error DeadlinePassed(uint256 deadline)',
  'error WrongNonce(uint256 nonce, uint256 expected)',
  'error WrongSigner(address signer)',
  'error NotEnoughGas(uint256 available, uint256 gasLimit)',
])
export const DEMO = parseAbi([
  'function record(bytes32 memo) payable',
  'function claim(address beneficiary)',
  'function fail() view',
  'function failWith(string text) pure',
  'function burn(uint256 gasAmount)',
  'function callsOf(address caller) view returns (uint256)',
  'function claimsOf(address beneficiary) view returns (uint256)',
  'function totalValue() view returns (uint256)',
  'event Called(address indexed caller, uint256 value, bytes32 memo)',
  'error Refused(address caller)',
])
