// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

/// @notice GasTank generation that only takes deposits, with the functions, events and errors of published deployments.
/// Charges change no balance, so its figures only grow, and only the service knows the remainder of a deposit. Depositors
/// cannot withdraw.
contract GasTankBalances {
    /// @notice Receives what the builder takes out.
    address public immutable owner;
    /// @notice The service's account.
    address public immutable builder;
    mapping(address operator => uint256 amount) public balances;

    /// @notice Names the new balance, not the amount of the deposit or its payer. Nothing is indexed.
    event AccountDeposited(address operator, uint256 newBalance);
    event Withdrawn(uint256 amount);

    error NotBuilder();
    error FailedLowLevelCall();

    constructor(address builder_) {
        (owner, builder) = (msg.sender, builder_);
    }

    receive() external payable {
        _deposit(msg.sender);
    }

    function deposit() external payable {
        _deposit(msg.sender);
    }

    function deposit(address operator) external payable {
        _deposit(operator);
    }

    /// @notice Takes ether for charges out of the contract; all balances stay.
    function withdraw(uint256 amount) external {
        if (msg.sender != builder) revert NotBuilder();
        (bool success,) = owner.call{value: amount}("");
        if (!success) revert FailedLowLevelCall();
        emit Withdrawn(amount);
    }

    function version() external pure returns (string memory) {
        return "1.1.1";
    }

    function _deposit(address operator) private {
        balances[operator] += msg.value;
        emit AccountDeposited(operator, balances[operator]);
    }
}
