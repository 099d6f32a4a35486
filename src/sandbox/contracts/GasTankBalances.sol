// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

/// @notice The generation of the GasTank that only takes deposits: charges never leave it, so its figures only grow,
/// and what is left of a deposit is known to the service alone. There is no way out, and a plain transfer is turned
/// away: it would say for nobody.
contract GasTankBalances {
    mapping(address account => uint256 amount) public balances;

    event Deposited(address indexed account, address indexed from, uint256 amount);

    function deposit(address account) external payable {
        balances[account] += msg.value;
        emit Deposited(account, msg.sender, msg.value);
    }
}
